#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "drydock/coro/check.h"
#include "drydock/coro/keyed_random.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/address.h"
#include "drydock/fabric/async/request_channel.h"

namespace drydock::fabric::async {
namespace {

// Where a client's numbers begin: 2^32 of its own. On EFA a client that starts again has another
// address, as its queue pair has another number and key.
std::uint64_t NumbersFrom(const Address& address) {
  std::uint64_t hash = 0;
  for (const std::uint8_t byte : address.bytes()) hash = coro::Combine(hash, byte);
  return hash << 32;
}

}  // namespace

// A call that waits for its response, in its frame.
class RequestClient::PendingCall {
 public:
  PendingCall(RequestClient& client, Expected expected)
      : count(++client.calls_),
        number(client.numbers_from_ + count),
        wants(expected),
        client_(client) {
    client_.pending_.emplace(number, this);
  }
  PendingCall(const PendingCall&) = delete;
  PendingCall& operator=(const PendingCall&) = delete;
  ~PendingCall() { client_.pending_.erase(number); }

  // Called once: a response with this number is late from then on.
  void End(absl::StatusOr<std::vector<std::byte>> how) {
    client_.pending_.erase(number);
    result = std::move(how);
    ended.NotifyAll();
  }

  const std::uint64_t count;   // the client's first call has 1: for messages
  const std::uint64_t number;  // on the wire
  const Expected wants;
  std::optional<absl::StatusOr<std::vector<std::byte>>> result;
  coro::WaitList ended;

 private:
  RequestClient& client_;
};

RequestClient::RequestClient(AsyncEndpoint& endpoint, Peer server, const BufferRef& memory,
                             const RequestOptions& options)
    : endpoint_(endpoint),
      server_(server),
      options_(options),
      window_(options.window),
      buffers_(options.SendingHalf(memory), options.message_bytes()),
      receiver_(endpoint, memory, options.window, options.message_bytes(),
                /*backlog=*/options.window),
      numbers_from_(NumbersFrom(endpoint.address())) {
  tasks_.Spawn(Listen());
}

coro::NowTask<absl::StatusOr<std::vector<std::byte>>> RequestClient::Exchange(
    std::uint32_t type, std::span<const std::byte> request, Expected expected,
    coro::Time deadline) {
  DD_CHECK(std::max(request.size(), expected.bytes) <= options_.payload_bytes,
           "a payload longer than its channel takes");
  CO_ASSIGN_OR_RETURN(const OperationWindow::Permit permit, co_await window_.Enter(deadline));
  CO_ASSIGN_OR_RETURN(BufferRef buffer, co_await buffers_.Take(deadline));
  if (!failure_.ok()) co_return failure_;
  PendingCall call(*this, expected);
  RequestHeader header;
  header.session = options_.session;
  header.number = call.number;
  header.type = type;
  const std::size_t length = EncodeRequest(header, request, buffer->bytes());
  tasks_.Spawn(Send(call.number, BufferSlice(std::move(buffer), 0, length), deadline));
  bool in_time = true;
  while (in_time && !call.result.has_value()) in_time = co_await call.ended.Wait(deadline);
  if (call.result.has_value()) co_return *std::move(call.result);
  co_return absl::DeadlineExceededError(absl::StrCat("call ", call.count, ": no response in time"));
}

coro::Task<absl::Status> RequestClient::Send(std::uint64_t number, BufferSlice message,
                                             coro::Time deadline) {
  OperationOptions options;
  options.deadline = deadline;
  const Completion sent = co_await endpoint_.Send(message, server_, options);
  const auto call = pending_.find(number);
  if (!sent.ok() && call != pending_.end()) {
    call->second->End(endpoint_.ToStatus(sent, absl::StrCat("send call ", call->second->count)));
  }
  co_return absl::OkStatus();
}

coro::Task<absl::Status> RequestClient::Listen() {
  for (;;) {
    const absl::StatusOr<Message> message = co_await receiver_.Next();
    if (message.ok()) {
      Accept(message->bytes);
      continue;
    }
    Fail(message.status());
    co_return absl::OkStatus();
  }
}

void RequestClient::Accept(std::span<const std::byte> bytes) {
  const absl::StatusOr<RequestMessage> message = DecodeRequest(bytes);
  if (!message.ok()) {
    ++counters_.corrupt;
    return;
  }
  const RequestHeader& header = message->header;
  const bool is_error = header.kind == RequestMessageKind::kError;
  if (header.session != options_.session ||
      (!is_error && header.kind != RequestMessageKind::kResponse)) {
    ++counters_.stray;
    return;
  }
  const auto found = pending_.find(header.number);
  if (found == pending_.end()) {
    const bool asked = header.number > numbers_from_ && header.number - numbers_from_ <= calls_;
    ++(asked ? counters_.late : counters_.unasked);
    return;
  }
  PendingCall& call = *found->second;
  if (is_error) return call.End(DecodeError(message->payload));
  if (header.type != call.wants.type || header.length != call.wants.bytes) {
    return call.End(absl::InvalidArgumentError(
        absl::StrCat("call ", call.count, ": the response has type ", header.type, " and ",
                     header.length, " bytes, not ", call.wants.type, " and ", call.wants.bytes)));
  }
  call.End(std::vector<std::byte>(message->payload.begin(), message->payload.end()));
}

void RequestClient::Fail(const absl::Status& why) {
  failure_ = why;
  while (!pending_.empty()) pending_.begin()->second->End(why);
}

}  // namespace drydock::fabric::async
