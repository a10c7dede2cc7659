// The driver's objects behind the contract's: what a program opens on a simulated NIC.

#ifndef SIM_SIM_DOMAIN_H_
#define SIM_SIM_DOMAIN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fabric/fabric.h"
#include "sim/completion_ring.h"
#include "sim/efa_address.h"
#include "sim/nic.h"
#include "sim/world.h"

namespace sim {

class SimEndpoint;

// What every object of one open NIC shares.
struct DomainCore {
  World& world;
  Nic& nic;
  fabric::NicInfo info;
  ProtectionDomain domain;
  std::size_t completion_queues = 0;
};

// A completion ring, and the endpoints whose completions arrive in it.
struct QueueCore {
  QueueCore(std::shared_ptr<DomainCore> owner, std::size_t depth);
  ~QueueCore();

  std::shared_ptr<DomainCore> domain;
  std::shared_ptr<CompletionRing> ring;
  std::vector<SimEndpoint*> endpoints;  // index = queue pair number; null when closed
};

// The peers of one address vector. A Peer is slot + generation, so that a removed one is not
// mistaken for its successor.
struct VectorCore {
  explicit VectorCore(std::shared_ptr<DomainCore> owner) : domain(std::move(owner)) {}
  ~VectorCore();

  // Null when there is no such peer. Valid until the next Insert.
  const EfaAddress* Find(fabric::Peer peer) const;

  struct Entry {
    EfaAddress address;
    std::uint32_t generation = 0;
    bool live = false;
  };
  std::shared_ptr<DomainCore> domain;
  std::vector<Entry> entries;
  std::vector<std::uint32_t> free_slots;
};

class SimMemoryRegion final : public fabric::MemoryRegion {
 public:
  SimMemoryRegion(std::shared_ptr<DomainCore> domain, const fabric::MemoryRequest& request,
                  MemoryTable::Keys keys);
  ~SimMemoryRegion() override { Close().IgnoreError(); }

  std::byte* data() const override { return request_.data; }
  std::size_t length_bytes() const override { return request_.length_bytes; }
  fabric::Access access() const override { return request_.access; }
  std::uint64_t local_key() const override { return keys_.local; }
  fabric::RemoteBuffer remote() const override;
  absl::Status Close() override;

 private:
  std::shared_ptr<DomainCore> domain_;
  fabric::MemoryRequest request_;
  MemoryTable::Keys keys_;
};

class SimCompletionQueue final : public fabric::CompletionQueue {
 public:
  explicit SimCompletionQueue(std::shared_ptr<QueueCore> core);

  fabric::ReadResult Read(std::span<fabric::Completion> entries) override;
  std::string ErrorText(const fabric::Completion& completion) override;
  std::size_t depth() const override { return depth_; }
  absl::Status Close() override;

  const std::shared_ptr<QueueCore>& core() const { return core_; }

 private:
  std::shared_ptr<QueueCore> core_;
  std::size_t depth_;
};

class SimAddressVector final : public fabric::AddressVector {
 public:
  explicit SimAddressVector(std::shared_ptr<VectorCore> core) : core_(std::move(core)) {}

  absl::StatusOr<fabric::Peer> Insert(const fabric::Address& address) override;
  absl::Status Remove(fabric::Peer peer) override;
  absl::StatusOr<fabric::Address> Lookup(fabric::Peer peer) const override;
  absl::Status Close() override;

  const std::shared_ptr<VectorCore>& core() const { return core_; }

 private:
  std::shared_ptr<VectorCore> core_;
};

class SimDomain final : public fabric::Domain {
 public:
  SimDomain(World& world, Nic& nic, const fabric::NicInfo& info);

  const fabric::NicInfo& nic() const override { return info_; }
  absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> RegisterMemory(
      const fabric::MemoryRequest& request) override;
  absl::StatusOr<std::unique_ptr<fabric::CompletionQueue>> OpenCompletionQueue(
      const fabric::CompletionQueueOptions& options) override;
  absl::StatusOr<std::unique_ptr<fabric::AddressVector>> OpenAddressVector() override;
  absl::StatusOr<std::unique_ptr<fabric::Counter>> OpenCounter() override {
    return absl::UnimplementedError("open counter: the simulator has none");
  }
  absl::StatusOr<std::unique_ptr<fabric::Endpoint>> OpenEndpoint(
      const fabric::EndpointOptions& options) override;
  absl::Status Close() override;

 private:
  fabric::NicInfo info_;
  std::shared_ptr<DomainCore> core_;
};

}  // namespace sim

#endif  // SIM_SIM_DOMAIN_H_
