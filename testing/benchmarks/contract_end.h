// An endpoint of any backend of the contract as an End (write_end.h).

#ifndef TESTING_BENCHMARKS_CONTRACT_END_H_
#define TESTING_BENCHMARKS_CONTRACT_END_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fabric/error.h"
#include "fabric/fabric.h"
#include "fabric/operation.h"
#include "testing/benchmarks/write_end.h"

namespace bench {

// Its members that polls and posts write begin a cache line: two threads may have one each.
class alignas(64) ContractEnd {
 public:
  // On the first NIC of `fabric`, with this memory. Errors: those of the backend.
  static absl::StatusOr<std::unique_ptr<ContractEnd>> Open(fabric::Fabric& fabric,
                                                           std::byte* memory,
                                                           std::size_t length_bytes);

  // From now on Post writes to `peer`.
  absl::Status WriteTo(const ContractEnd& peer);

  BurstOutcome Post(const Burst& burst) {
    if (burst.count == 1) {
      const fabric::WriteRequest request = RequestOf(burst, burst.first);
      return OutcomeOf(endpoint_->Write({&request, 1}));
    }
    for (std::size_t i = 0; i < burst.count; ++i) {
      requests_[i] = RequestOf(burst, burst.first + i);
    }
    return OutcomeOf(endpoint_->Write(std::span(requests_.data(), burst.count)));
  }
  Seen Poll() {
    const fabric::ReadResult read = queue_->Read(completions_);
    Seen seen;
    if (read.error != fabric::ErrorCode::kOk) [[unlikely]]
      Fail(nullptr, read.error, seen);
    if (read.count == 0) return seen;
    for (std::size_t i = 0; i < read.count; ++i) Count(completions_[i], seen);
    return seen;
  }
  absl::Status error() const { return error_; }

 private:
  ContractEnd() = default;

  void Count(const fabric::Completion& completion, Seen& seen) {
    using Kind = fabric::OperationKind;
    if (!completion.ok()) [[unlikely]] {
      Fail(&completion, completion.error, seen);
    } else if (completion.kind == Kind::kRemoteWrite && completion.immediate.has_value()) {
      ++seen.arrived.completions;
      seen.arrived.names += *completion.immediate;
      seen.arrived.bytes += completion.length_bytes;
    } else if (completion.kind == Kind::kWrite && completion.context.has_value()) {
      ++seen.sent.completions;
      seen.sent.names += static_cast<std::uint64_t>(*completion.context);
    } else {
      Fail(&completion, completion.error, seen);
    }
  }
  fabric::WriteRequest RequestOf(const Burst& burst, std::size_t slot) const {
    const std::size_t offset = burst.offset_bytes + slot * burst.bytes;
    return {.source = {source_.data + offset, burst.bytes, source_.local_key},
            .target = {target_.address + offset, target_.key},
            .peer = peer_,
            .immediate = static_cast<std::uint32_t>(slot),
            .context = fabric::Context{slot}};
  }
  BurstOutcome OutcomeOf(const fabric::PostResult& result) {
    if (result.error == fabric::ErrorCode::kOk) [[likely]]
      return {result.accepted};
    return Refused(result);
  }
  BurstOutcome Refused(const fabric::PostResult& result);
  // Notes why. `completion`: null when the queue itself failed.
  void Fail(const fabric::Completion* completion, fabric::ErrorCode error, Seen& seen);

  // In the order in which they open; they die in reverse.
  std::unique_ptr<fabric::Domain> domain_;
  std::unique_ptr<fabric::CompletionQueue> queue_;
  std::unique_ptr<fabric::AddressVector> peers_;
  std::unique_ptr<fabric::MemoryRegion> region_;
  std::unique_ptr<fabric::Endpoint> endpoint_;
  fabric::LocalBuffer source_;
  fabric::RemoteBuffer target_;
  fabric::Peer peer_ = fabric::kNoPeer;
  std::array<fabric::WriteRequest, kMostInBurst> requests_;
  std::array<fabric::Completion, kMostInBurst> completions_;
  absl::Status error_;
};

}  // namespace bench

#endif  // TESTING_BENCHMARKS_CONTRACT_END_H_
