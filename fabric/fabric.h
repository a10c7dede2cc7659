// The root object of a backend: the simulator, or one provider of libfabric.

#ifndef DRYDOCK_FABRIC_FABRIC_H_
#define DRYDOCK_FABRIC_FABRIC_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "drydock/fabric/capability.h"
#include "drydock/fabric/domain.h"
#include "drydock/fabric/nic_info.h"

namespace drydock::fabric {

// What it is: the root object of a backend. Each backend is one header with an Open function that
// returns it. Ownership: belongs to the caller that opened it; domains keep it working. Threads:
// thread-safe, as its domains and their regions are; those of one simulated world are used from one
// thread (sim/driver/sim_fabric.h). Blocking: opening a domain may enter the kernel. Destruction:
// any time.
class Fabric : public Capable {
 public:
  // Its name for a person: "sim (efa-direct, profile test)", "libfabric 1.17 tcp;ofi_rxm".
  virtual std::string_view description() const = 0;

  // The NICs, best first. Never empty. Lives as long as the fabric.
  virtual std::span<const NicInfo> nics() const = 0;

  // Opens nics()[nic]. kInvalidArgument: there is no such NIC.
  virtual absl::StatusOr<std::unique_ptr<Domain>> OpenDomain(std::size_t nic) = 0;
};

}  // namespace drydock::fabric

#endif  // DRYDOCK_FABRIC_FABRIC_H_
