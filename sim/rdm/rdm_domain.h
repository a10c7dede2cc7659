// The objects that a program opens: each is thin, and shares its core with what was opened from it.

#ifndef DRYDOCK_SIM_RDM_RDM_DOMAIN_H_
#define DRYDOCK_SIM_RDM_RDM_DOMAIN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/fabric/domain.h"
#include "drydock/fabric/error_data.h"
#include "drydock/sim/rdm/address_book.h"
#include "drydock/sim/rdm/alarm.h"
#include "drydock/sim/rdm/completion_sink.h"
#include "drydock/sim/rdm/counters.h"
#include "drydock/sim/rdm/memory_registry.h"
#include "drydock/sim/rdm/settings.h"

namespace drydock::sim::rdm {

struct DomainCore {
  DomainCore(std::shared_ptr<Alarm> clock, const Settings& knobs,
             std::unique_ptr<fabric::Domain> below, fabric::NicInfo nic)
      : alarm(std::move(clock)),
        settings(knobs),
        device(std::move(below)),
        info(std::move(nic)),
        memory(*device, info.limits.max_memory_regions) {}

  const std::shared_ptr<Alarm> alarm;
  const Settings settings;
  const std::unique_ptr<fabric::Domain> device;
  const fabric::NicInfo info;
  MemoryRegistry memory;
  std::uint64_t completion_queues = 0;  // open ones
  std::uint64_t next_endpoint = 0;
  // Closed endpoints that still tell their peers, while queues of the domain are read. They go with
  // its last queue.
  std::vector<std::unique_ptr<ProgressSource>> leaving;
};

struct QueueCore {
  QueueCore(std::shared_ptr<DomainCore> parent, std::size_t entries)
      : domain(std::move(parent)), depth(entries) {
    ++domain->completion_queues;
  }
  ~QueueCore() {
    if (--domain->completion_queues == 0) domain->leaving.clear();
  }

  const std::shared_ptr<DomainCore> domain;
  const std::size_t depth;
  CompletionSink sink;
};

struct VectorCore {
  VectorCore(std::shared_ptr<DomainCore> parent, std::unique_ptr<fabric::AddressVector> device)
      : domain(std::move(parent)), book(std::make_shared<AddressBook>(std::move(device))) {}

  const std::shared_ptr<DomainCore> domain;
  const std::shared_ptr<AddressBook> book;
};

class RdmMemoryRegion final : public fabric::MemoryRegion {
 public:
  RdmMemoryRegion(std::shared_ptr<DomainCore> domain, MemoryRegistry::Region* region);
  ~RdmMemoryRegion() override { Close().IgnoreError(); }

  std::byte* data() const override { return data_; }
  std::size_t length_bytes() const override { return length_bytes_; }
  fabric::Access access() const override { return access_; }
  std::uint64_t local_key() const override { return local_key_; }
  fabric::RemoteBuffer remote() const override { return remote_; }
  absl::Status Close() override;

 private:
  std::shared_ptr<DomainCore> domain_;
  MemoryRegistry::Region* region_;
  std::byte* const data_;
  const std::size_t length_bytes_;
  const fabric::Access access_;
  const std::uint64_t local_key_;
  const fabric::RemoteBuffer remote_;
};

class RdmCompletionQueue final : public fabric::CompletionQueue, private fabric::ErrorDetails {
 public:
  explicit RdmCompletionQueue(std::shared_ptr<QueueCore> core)
      : core_(std::move(core)), depth_(core_->depth) {}

  // Makes progress on every endpoint that has this queue, for sends or for receives.
  fabric::ReadResult Read(std::span<fabric::Completion> entries) override;
  std::string ErrorText(const fabric::Completion& completion) override;
  std::size_t depth() const override { return depth_; }
  absl::Status Close() override;
  void* QueryPower(const fabric::PowerId& power) override;

  const std::shared_ptr<QueueCore>& core() const { return core_; }

 private:
  void ReadErrorData(const fabric::Completion& completion, fabric::ErrorData& data) override {
    error_buffer_.GiveText(ErrorText(completion), data);
  }

  std::shared_ptr<QueueCore> core_;
  const std::size_t depth_;
  fabric::ErrorBuffer error_buffer_;
};

class RdmAddressVector final : public fabric::AddressVector {
 public:
  explicit RdmAddressVector(std::shared_ptr<VectorCore> core) : core_(std::move(core)) {}

  absl::StatusOr<fabric::Peer> Insert(const fabric::Address& address) override;
  absl::Status Remove(fabric::Peer peer) override;
  absl::StatusOr<fabric::Address> Lookup(fabric::Peer peer) const override;
  absl::Status Close() override;

  const std::shared_ptr<VectorCore>& core() const { return core_; }

 private:
  std::shared_ptr<VectorCore> core_;
};

// A counter of the software: reading it makes progress, as reading a queue does, and frees no
// slots.
class RdmCounter final : public fabric::Counter {
 public:
  explicit RdmCounter(std::shared_ptr<DomainCore> domain)
      : domain_(std::move(domain)), core_(std::make_shared<CounterCore>()) {}

  std::uint64_t Read() override { return core_ == nullptr ? 0 : core_->Read(); }
  std::uint64_t ReadErrors() override { return core_ == nullptr ? 0 : core_->ReadErrors(); }
  absl::Status Set(std::uint64_t value) override;
  absl::Status Add(std::uint64_t value) override;
  absl::Status Close() override;

  const std::shared_ptr<DomainCore>& domain() const { return domain_; }
  const std::shared_ptr<CounterCore>& core() const { return core_; }

 private:
  std::shared_ptr<DomainCore> domain_;
  std::shared_ptr<CounterCore> core_;
};

class RdmDomain final : public fabric::Domain {
 public:
  explicit RdmDomain(std::shared_ptr<DomainCore> core)
      : info_(core->info), core_(std::move(core)) {}

  const fabric::NicInfo& nic() const override { return info_; }
  absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> RegisterMemory(
      const fabric::MemoryRequest& request) override;
  absl::StatusOr<std::unique_ptr<fabric::CompletionQueue>> OpenCompletionQueue(
      const fabric::CompletionQueueOptions& options) override;
  absl::StatusOr<std::unique_ptr<fabric::AddressVector>> OpenAddressVector() override;
  absl::StatusOr<std::unique_ptr<fabric::Counter>> OpenCounter() override;
  absl::StatusOr<std::unique_ptr<fabric::Endpoint>> OpenEndpoint(
      const fabric::EndpointOptions& options) override;
  absl::Status Close() override;

 private:
  const fabric::NicInfo info_;
  std::shared_ptr<DomainCore> core_;
};

}  // namespace drydock::sim::rdm

#endif  // DRYDOCK_SIM_RDM_RDM_DOMAIN_H_
