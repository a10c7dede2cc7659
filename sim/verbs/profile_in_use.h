// The profile of the simulated devices that the environment names.

#ifndef SIM_VERBS_PROFILE_IN_USE_H_
#define SIM_VERBS_PROFILE_IN_USE_H_

#include <cstdlib>

#include "absl/status/statusor.h"
#include "sim/profile/profile.h"
#include "sim/verbs/settings.h"

namespace sim_testing {

inline const sim::Profile& ProfileInUse() {
  const absl::StatusOr<const sim::Profile*> profile =
      sim::FindProfile(std::getenv(sim::verbs::kProfileVariable));
  if (!profile.ok()) std::abort();
  return **profile;
}
inline const sim::DeviceAttributes& Device() { return ProfileInUse().device; }

}  // namespace sim_testing

#endif  // SIM_VERBS_PROFILE_IN_USE_H_
