#include "drydock/fabric/async/message_receiver.h"

#include <utility>

#include "drydock/coro/check.h"

namespace drydock::fabric::async {
namespace {

// The sender of this message has gone, or has broken it off: others may send as before.
bool IsOfOnePeer(ErrorCode error) {
  return error == ErrorCode::kPeerAborted || error == ErrorCode::kPeerUnresponsive ||
         error == ErrorCode::kUnreachable || error == ErrorCode::kBadResponse;
}

}  // namespace

MessageReceiver::MessageReceiver(AsyncEndpoint& endpoint, const BufferRef& room, std::size_t window,
                                 std::size_t message_bytes, std::size_t backlog)
    : endpoint_(endpoint), backlog_(backlog) {
  DD_CHECK(window * message_bytes <= room->bytes().size(), "receive window larger than its buffer");
  for (std::size_t i = 0; i < window; ++i) {
    receives_.Spawn(KeepPosted(BufferSlice(room, i * message_bytes, message_bytes)));
  }
}

coro::Task<absl::StatusOr<Message>> MessageReceiver::Next(coro::Time deadline) {
  bool in_time = true;
  while (messages_.empty()) {
    if (!failure_.ok()) co_return failure_;
    if (!in_time) co_return absl::DeadlineExceededError("receive: no message came in time");
    in_time = co_await arrived_.Wait(deadline);
  }
  Message message = std::move(messages_.front());
  messages_.pop_front();
  if (messages_.size() <= backlog_) taken_.NotifyAll();
  co_return message;
}

coro::Task<absl::Status> MessageReceiver::KeepPosted(BufferSlice room) {
  for (;;) {
    const Completion received = co_await endpoint_.Recv(room, {.standing = true});
    if (received.error == ErrorCode::kTruncated) ++truncated_;
    if (IsOfOnePeer(received.error)) ++broken_off_;
    if (received.error == ErrorCode::kTruncated || IsOfOnePeer(received.error)) continue;
    if (!received.ok()) {
      failure_ = endpoint_.ToStatus(received, "receive");
      arrived_.NotifyAll();
      co_return absl::OkStatus();  // Next has it
    }
    // A write's immediate has taken the receive, and its bytes are elsewhere: an ImmediateCounter
    // counts it.
    if (received.kind == OperationKind::kRemoteWrite) continue;
    const std::span<const std::byte> bytes = room.bytes().first(received.length_bytes);
    messages_.push_back({{bytes.begin(), bytes.end()}, received.immediate});
    arrived_.NotifyOne();
    while (messages_.size() > backlog_) co_await taken_.Wait();
  }
}

}  // namespace drydock::fabric::async
