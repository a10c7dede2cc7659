// Messages between endpoints of any backend of the contract, as an End (write_end.h) of a ping-pong:
// one is under way at a time.

#ifndef DRYDOCK_TESTING_BENCHMARKS_MESSAGE_END_H_
#define DRYDOCK_TESTING_BENCHMARKS_MESSAGE_END_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/fabric/address.h"
#include "drydock/fabric/error.h"
#include "drydock/fabric/fabric.h"
#include "drydock/fabric/opened_nic.h"
#include "drydock/fabric/operation.h"
#include "drydock/testing/benchmarks/write_end.h"

namespace drydock::bench {

// Owns its memory: a message to send, and the receives. One thread.
class MessageEnd {
 public:
  // On the first NIC of `fabric`, for messages of this size. Its receives are posted. Errors: those
  // of the backend.
  static absl::StatusOr<std::unique_ptr<MessageEnd>> Open(fabric::Fabric& fabric,
                                                          std::size_t bytes);

  fabric::Address address() const { return nic_.endpoint->address(); }
  // From now on Post sends to `peer`.
  absl::Status SendTo(const fabric::Address& peer);

  // What the next Post sends.
  std::span<std::byte> outgoing() { return {memory_.data(), bytes_}; }
  // What the last message brought. REQUIRES: one has arrived.
  std::span<const std::byte> incoming() const {
    return std::span(memory_).subspan((1 + last_) * bytes_, bytes_);
  }

  // REQUIRES: burst is of one slot, the first, of the size that this was opened for.
  BurstOutcome Post(const Burst&) {
    const fabric::ErrorCode error = nic_.endpoint->Send(fabric::SendRequest{
        .buffer = region_->Local(0, bytes_), .peer = peer_, .context = fabric::Context{0}});
    if (error == fabric::ErrorCode::kOk) [[likely]]
      return {1};
    return Refused(error);
  }
  bool Poll(Found& sent, Found& arrived) {
    const fabric::ReadResult read = nic_.queue->Read(completions_);
    if (read.error != fabric::ErrorCode::kOk) [[unlikely]]
      return Fail(fabric::ToStatus(read.error, "read completion queue"));
    for (std::size_t i = 0; i < read.count; ++i) {
      if (!Count(completions_[i], sent, arrived)) [[unlikely]]
        return false;
    }
    return true;
  }
  absl::Status error() const { return error_; }

 private:
  // A peer sends one, and the next when it has an answer: one is written while one is posted.
  static constexpr std::size_t kReceives = 2;
  static constexpr std::uint64_t kFirstReceive = 1;  // contexts: that of a send is 0

  explicit MessageEnd(std::size_t bytes) : bytes_(bytes), memory_((1 + kReceives) * bytes) {}

  fabric::ErrorCode PostReceive(std::size_t which) {
    return nic_.endpoint->Recv(
        fabric::RecvRequest{.buffer = region_->Local((1 + which) * bytes_, bytes_),
                            .context = fabric::Context{kFirstReceive + which}});
  }
  // False: it failed, or a receive could not be posted again.
  bool Count(const fabric::Completion& completion, Found& sent, Found& arrived) {
    if (!completion.ok() || !completion.context.has_value()) [[unlikely]]
      return Fail(fabric::ToStatus(completion.error, nic_.queue->ErrorText(completion)));
    const auto context = static_cast<std::uint64_t>(*completion.context);
    if (context < kFirstReceive) {
      ++sent.completions;
      return true;
    }
    ++arrived.completions;
    arrived.bytes += completion.length_bytes;
    last_ = context - kFirstReceive;
    const fabric::ErrorCode error = PostReceive(last_);
    if (error == fabric::ErrorCode::kOk) [[likely]]
      return true;
    return Fail(fabric::ToStatus(error, "post receive"));
  }
  BurstOutcome Refused(fabric::ErrorCode error);
  bool Fail(absl::Status why);

  // They die in reverse order.
  const std::size_t bytes_;
  std::vector<std::byte> memory_;
  std::unique_ptr<fabric::MemoryRegion> region_;  // outlives the endpoint
  fabric::OpenedNic nic_;
  fabric::Peer peer_ = fabric::kNoPeer;
  std::size_t last_ = 0;
  std::array<fabric::Completion, kMostInBurst> completions_;
  absl::Status error_;
};

}  // namespace drydock::bench

#endif  // DRYDOCK_TESTING_BENCHMARKS_MESSAGE_END_H_
