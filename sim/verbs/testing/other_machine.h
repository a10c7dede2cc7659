// Other machines of the network in this process, which a program sees as peers.

#ifndef DRYDOCK_SIM_VERBS_TESTING_OTHER_MACHINE_H_
#define DRYDOCK_SIM_VERBS_TESTING_OTHER_MACHINE_H_

#include <infiniband/verbs.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "drydock/sim/efa_address.h"
#include "drydock/sim/hosts/host.h"
#include "drydock/sim/verbs/settings.h"
#include "drydock/sim/verbs/testing/profile_in_use.h"

namespace drydock::sim_testing {

// Another machine of the network, in this process.
inline std::unique_ptr<sim::Host> Join(std::uint32_t zone = 0) {
  absl::StatusOr<std::unique_ptr<sim::Host>> host =
      sim::Host::Join({.fabric = std::getenv(sim::verbs::kFabricVariable),
                       .seed = std::stoull(std::getenv(sim::verbs::kSeedVariable)),
                       .profile = &ProfileInUse(),
                       .zone = zone});
  if (!host.ok()) std::abort();
  return *std::move(host);
}

// Of its first NIC.
inline ibv_gid GidOf(sim::Host& host) {
  const std::lock_guard lock(host.mutex());
  ibv_gid gid{};
  const sim::Gid& first = host.node().nic(0).gid();
  std::copy(first.begin(), first.end(), gid.raw);
  return gid;
}

}  // namespace drydock::sim_testing

#endif  // DRYDOCK_SIM_VERBS_TESTING_OTHER_MACHINE_H_
