// One simulated NIC, opened.

#ifndef DRYDOCK_SIM_DRIVER_SIM_DOMAIN_H_
#define DRYDOCK_SIM_DRIVER_SIM_DOMAIN_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/fabric/counter_memory.h"
#include "drydock/fabric/fabric.h"
#include "drydock/sim/driver/domain_core.h"
#include "drydock/sim/driver/open_object.h"

namespace drydock::sim {

class SimDomain final : public fabric::Domain, private fabric::CountersInMemory {
 public:
  // `is_protocols`: DomainCore::is_protocols. kResourceExhausted: the device has no protection
  // domain left.
  static absl::StatusOr<std::unique_ptr<fabric::Domain>> Open(World& world, Nic& nic,
                                                              const fabric::NicInfo& info,
                                                              bool is_protocols);

  explicit SimDomain(std::shared_ptr<DomainCore> core)
      : info_(core->info),
        core_(std::move(core)),
        open_(core_->world.surroundings(), ObjectKind::kDomain, core_->nic.state()) {
    core_->object = open_.number();
  }

  const fabric::NicInfo& nic() const override { return info_; }
  absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> RegisterMemory(
      const fabric::MemoryRequest& request) override;
  absl::StatusOr<std::unique_ptr<fabric::CompletionQueue>> OpenCompletionQueue(
      const fabric::CompletionQueueOptions& options) override;
  absl::StatusOr<std::unique_ptr<fabric::AddressVector>> OpenAddressVector() override;
  absl::StatusOr<std::unique_ptr<fabric::Counter>> OpenCounter() override;
  absl::StatusOr<std::unique_ptr<fabric::Counter>> OpenCounterIn(
      const fabric::CounterMemory& memory) override;
  void* QueryPower(const fabric::PowerId& power) override;
  absl::StatusOr<std::unique_ptr<fabric::Endpoint>> OpenEndpoint(
      const fabric::EndpointOptions& options) override;
  absl::Status Close() override;

 private:
  const fabric::NicInfo info_;
  std::shared_ptr<DomainCore> core_;
  OpenObject open_;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DRIVER_SIM_DOMAIN_H_
