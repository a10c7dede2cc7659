// The least that can stand behind the contract: an endpoint whose writes complete at once, in a
// completion queue that is a ring in memory. What a loop costs shows best over something that costs
// nothing.

#ifndef DRYDOCK_TESTING_BENCHMARKS_MEMORY_FABRIC_H_
#define DRYDOCK_TESTING_BENCHMARKS_MEMORY_FABRIC_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "drydock/fabric/async/registered_buffer.h"
#include "drydock/fabric/completion_queue.h"
#include "drydock/fabric/endpoint.h"

namespace drydock::bench {

// Not thread-safe. Outlives its endpoint.
class MemoryQueue final : public fabric::CompletionQueue {
 public:
  static constexpr std::size_t kDepth = 2048;

  fabric::ReadResult Read(std::span<fabric::Completion> entries) override {
    fabric::ReadResult result;
    while (result.count < entries.size() && read_ != written_) {
      fabric::Completion& completion = entries[result.count++];
      completion.context.emplace(contexts_[read_++ % kDepth]);
      completion.kind = fabric::OperationKind::kWrite;
      completion.error = fabric::ErrorCode::kOk;
      completion.immediate.reset();
    }
    return result;
  }
  std::string ErrorText(const fabric::Completion&) override { return "nothing fails here"; }
  std::size_t depth() const override { return kDepth; }
  absl::Status Close() override { return absl::OkStatus(); }

  bool full() const { return written_ - read_ == kDepth; }
  // REQUIRES: not full.
  void Push(fabric::Context context) { contexts_[written_++ % kDepth] = context; }

 private:
  std::array<fabric::Context, kDepth> contexts_{};
  std::uint64_t written_ = 0;
  std::uint64_t read_ = 0;
};

// Writes are accepted and complete; everything else is refused with kUnsupported.
class MemoryEndpoint final : public fabric::Endpoint {
 public:
  using Endpoint::Write;  // of one request

  explicit MemoryEndpoint(MemoryQueue& queue) : queue_(queue) {}

  fabric::PostResult Send(std::span<const fabric::SendRequest>) override { return Refused(); }
  fabric::PostResult Recv(std::span<const fabric::RecvRequest>) override { return Refused(); }
  fabric::PostResult Write(std::span<const fabric::WriteRequest> requests) override {
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (queue_.full()) return {i, fabric::ErrorCode::kAgain};
      if (requests[i].context.has_value()) queue_.Push(*requests[i].context);
    }
    return {requests.size(), fabric::ErrorCode::kOk};
  }
  fabric::PostResult Read(std::span<const fabric::ReadRequest>) override { return Refused(); }
  const fabric::Limits& limits() const override { return limits_; }
  fabric::Address address() const override { return {}; }
  absl::Status Close() override { return absl::OkStatus(); }

 private:
  static fabric::PostResult Refused() { return {0, fabric::ErrorCode::kUnsupported}; }

  MemoryQueue& queue_;
  fabric::Limits limits_;
};

// A registered buffer that no device knows of.
fabric::async::BufferRef MakeMemoryBuffer(std::size_t length_bytes);

}  // namespace drydock::bench

#endif  // DRYDOCK_TESTING_BENCHMARKS_MEMORY_FABRIC_H_
