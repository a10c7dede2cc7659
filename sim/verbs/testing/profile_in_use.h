// The profile of the simulated devices that the environment names.

#ifndef DRYDOCK_SIM_VERBS_TESTING_PROFILE_IN_USE_H_
#define DRYDOCK_SIM_VERBS_TESTING_PROFILE_IN_USE_H_

#include <cstdlib>

#include "absl/status/statusor.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/verbs/settings.h"

namespace drydock::sim_testing {

inline const sim::Profile& ProfileInUse() {
  const absl::StatusOr<const sim::Profile*> profile =
      sim::FindProfile(std::getenv(sim::verbs::kProfileVariable));
  if (!profile.ok()) std::abort();
  return **profile;
}
inline const sim::DeviceAttributes& Device() { return ProfileInUse().device; }

}  // namespace drydock::sim_testing

#endif  // DRYDOCK_SIM_VERBS_TESTING_PROFILE_IN_USE_H_
