// An endpoint of any backend of the contract as an End (write_end.h).

#ifndef DRYDOCK_TESTING_BENCHMARKS_CONTRACT_END_H_
#define DRYDOCK_TESTING_BENCHMARKS_CONTRACT_END_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/fabric/address.h"
#include "drydock/fabric/error.h"
#include "drydock/fabric/fabric.h"
#include "drydock/fabric/opened_nic.h"
#include "drydock/fabric/operation.h"
#include "drydock/testing/benchmarks/write_end.h"

namespace drydock::bench {

// Its members that polls and posts write begin a cache line: two threads may have one each.
class alignas(64) ContractEnd {
 public:
  // On the first NIC of `fabric`, with this memory. Errors: those of the backend.
  static absl::StatusOr<std::unique_ptr<ContractEnd>> Open(fabric::Fabric& fabric,
                                                           std::byte* memory,
                                                           std::size_t length_bytes);

  fabric::Address address() const { return endpoint_->address(); }
  fabric::RemoteBuffer memory() const { return region_->remote(); }
  // From now on Post writes to this memory of `peer`, which may be another process's.
  absl::Status WriteTo(const fabric::Address& peer, fabric::RemoteBuffer memory);
  absl::Status WriteTo(const ContractEnd& peer) { return WriteTo(peer.address(), peer.memory()); }

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
  [[gnu::always_inline]] bool Poll(Found& sent, Found& arrived) {
    const fabric::ReadResult read = queue_->Read(completions_);
    if (read.error != fabric::ErrorCode::kOk) [[unlikely]]
      return FailRead(read.error);
    for (std::size_t i = 0; i < read.count; ++i) {
      if (!Count(completions_[i], sent, arrived)) [[unlikely]]
        return Fail(completions_[i]);
    }
    return true;
  }
  absl::Status error() const { return error_; }

 private:
  ContractEnd() = default;

  // False: it failed, or is of another kind than a write.
  static bool Count(const fabric::Completion& completion, Found& sent, Found& arrived) {
    using Kind = fabric::OperationKind;
    if (!completion.ok()) [[unlikely]]
      return false;
    if (completion.kind == Kind::kRemoteWrite && completion.immediate.has_value()) {
      ++arrived.completions;
      arrived.names += *completion.immediate;
      arrived.bytes += completion.length_bytes;
      return true;
    }
    if (completion.kind != Kind::kWrite || !completion.context.has_value()) [[unlikely]]
      return false;
    ++sent.completions;
    sent.names += static_cast<std::uint64_t>(*completion.context);
    return true;
  }
  fabric::WriteRequest RequestOf(const Burst& burst, std::size_t slot) const {
    const std::size_t offset = burst.offset_bytes + slot * burst.bytes;
    return {.source = {source_.data + offset, burst.bytes, source_.local_key},
            .target = {target_.address + offset, target_.key},
            .peer = peer_,
            .immediate = static_cast<std::uint32_t>(slot),
            .context = fabric::Context{slot}};
  }
  BurstOutcome OutcomeOf(fabric::PostResult result) {
    if (result.error == fabric::ErrorCode::kOk) [[likely]]
      return {result.accepted};
    return Refused(result);
  }
  BurstOutcome Refused(fabric::PostResult result);
  // Note why. Return false.
  bool FailRead(fabric::ErrorCode error);
  bool Fail(const fabric::Completion& completion);

  // They die in reverse order.
  std::unique_ptr<fabric::MemoryRegion> region_;  // outlives the endpoint
  fabric::OpenedNic nic_;
  // What polls and posts use, one pointer away.
  fabric::CompletionQueue* queue_ = nullptr;
  fabric::Endpoint* endpoint_ = nullptr;
  fabric::LocalBuffer source_;
  fabric::RemoteBuffer target_;
  fabric::Peer peer_ = fabric::kNoPeer;
  std::array<fabric::WriteRequest, kMostInBurst> requests_;
  std::array<fabric::Completion, kMostInBurst> completions_;
  absl::Status error_;
};

}  // namespace drydock::bench

#endif  // DRYDOCK_TESTING_BENCHMARKS_CONTRACT_END_H_
