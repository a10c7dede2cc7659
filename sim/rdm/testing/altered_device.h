// A device with something taken away, for tests: it decorates any fabric of the contract.

#ifndef DRYDOCK_SIM_RDM_TESTING_ALTERED_DEVICE_H_
#define DRYDOCK_SIM_RDM_TESTING_ALTERED_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "drydock/fabric/fabric.h"
#include "drydock/sim/rdm/alarm.h"

namespace drydock::sim::rdm {

struct Alteration {
  // Says that it cannot do these, and refuses them when it is asked all the same.
  std::vector<fabric::Capability> without;
  std::optional<std::uint64_t> max_rma_bytes;
  // Registrations for which this returns true fail, as where the device has no key left.
  std::function<bool(const fabric::MemoryRequest&)> refuses_registration;
  // Sends for which this returns true end with kReceiverNotReady, as those do for which the peer
  // has no receive; the others pass.
  std::function<bool(const fabric::SendRequest&)> refuses_send;
};

// `alteration` is copied. The alarm rings when a send was refused, as a device does.
std::unique_ptr<fabric::Fabric> AlterDevice(std::unique_ptr<fabric::Fabric> device,
                                            const Alteration& alteration,
                                            std::shared_ptr<Alarm> alarm);

}  // namespace drydock::sim::rdm

#endif  // DRYDOCK_SIM_RDM_TESTING_ALTERED_DEVICE_H_
