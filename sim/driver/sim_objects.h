// The driver's objects behind the contract's: regions, queues, vectors and counters of an open NIC.

#ifndef DRYDOCK_SIM_DRIVER_SIM_OBJECTS_H_
#define DRYDOCK_SIM_DRIVER_SIM_OBJECTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/fabric/error_data.h"
#include "drydock/fabric/fabric.h"
#include "drydock/fabric/peer_memory.h"
#include "drydock/sim/driver/domain_core.h"
#include "drydock/sim/driver/domain_counter.h"
#include "drydock/sim/driver/open_object.h"
#include "drydock/sim/driver/queue_core.h"
#include "drydock/sim/driver/vector_core.h"
#include "drydock/sim/memory/memory_table.h"

namespace drydock::sim {

class SimMemoryRegion final : public fabric::MemoryRegion {
 public:
  SimMemoryRegion(std::shared_ptr<DomainCore> domain, const fabric::MemoryRequest& request,
                  MemoryTable::Keys keys, std::shared_ptr<fabric::PeerMemory> pinned)
      : domain_(std::move(domain)),
        request_(request),
        keys_(keys),
        pinned_(std::move(pinned)),
        open_(domain_->world.surroundings(), ObjectKind::kMemoryRegion, domain_->nic.state()) {
    if (pinned_ != nullptr) WatchFree();
  }
  ~SimMemoryRegion() override { Close().IgnoreError(); }

  std::byte* data() const override { return request_.data; }
  std::size_t length_bytes() const override { return request_.length_bytes; }
  fabric::Access access() const override { return request_.access; }
  std::uint64_t local_key() const override { return keys_.local; }
  fabric::RemoteBuffer remote() const override {
    return {reinterpret_cast<std::uint64_t>(request_.data), keys_.remote};
  }
  absl::Status Close() override;

 private:
  void WatchFree();

  std::shared_ptr<DomainCore> domain_;
  fabric::MemoryRequest request_;
  MemoryTable::Keys keys_;
  std::shared_ptr<fabric::PeerMemory> pinned_;  // null: host memory
  std::shared_ptr<fabric::PeerMemory::Freed> freed_;
  OpenObject open_;
};

class SimCompletionQueue final : public fabric::CompletionQueue, private fabric::ErrorDetails {
 public:
  explicit SimCompletionQueue(std::shared_ptr<QueueCore> core)
      : core_(std::move(core)),
        depth_(core_->ring->depth()),
        open_(core_->domain->world.surroundings(), ObjectKind::kCompletionQueue,
              core_->domain->nic.state()) {}

  fabric::ReadResult Read(std::span<fabric::Completion> entries) override;
  std::string ErrorText(const fabric::Completion& completion) override;
  std::size_t depth() const override { return depth_; }
  absl::Status Close() override;
  void* QueryPower(const fabric::PowerId& power) override;

  const std::shared_ptr<QueueCore>& core() const { return core_; }

 private:
  void ReadErrorData(const fabric::Completion& completion, fabric::ErrorData& data) override;

  std::shared_ptr<QueueCore> core_;
  std::size_t depth_;
  fabric::ErrorBuffer error_buffer_;
  OpenObject open_;
};

class SimAddressVector final : public fabric::AddressVector {
 public:
  explicit SimAddressVector(std::shared_ptr<VectorCore> core)
      : core_(std::move(core)),
        open_(core_->domain()->world.surroundings(), ObjectKind::kAddressVector,
              core_->domain()->nic.state()) {}

  absl::StatusOr<fabric::Peer> Insert(const fabric::Address& address) override;
  absl::Status Remove(fabric::Peer peer) override;
  absl::StatusOr<fabric::Address> Lookup(fabric::Peer peer) const override;
  absl::Status Close() override;

  const std::shared_ptr<VectorCore>& core() const { return core_; }

 private:
  std::shared_ptr<VectorCore> core_;
  OpenObject open_;
};

// Raised by the device, where it has counters, or by the driver with each entry that it takes out
// of a ring: then it misses entries that found no room there, and operations that make none.
class SimCounter final : public fabric::Counter {
 public:
  explicit SimCounter(std::shared_ptr<DomainCounter> core)
      : core_(std::move(core)),
        open_(core_->domain()->world.surroundings(), ObjectKind::kCounter,
              core_->domain()->nic.state()) {}

  std::uint64_t Read() override;
  std::uint64_t ReadErrors() override;
  absl::Status Set(std::uint64_t value) override;
  absl::Status Add(std::uint64_t value) override;
  absl::Status Close() override;

  const std::shared_ptr<DomainCounter>& core() const { return core_; }

 private:
  // REQUIRES: it is open.
  void Look();

  std::shared_ptr<DomainCounter> core_;
  OpenObject open_;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DRIVER_SIM_OBJECTS_H_
