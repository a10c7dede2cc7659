#include "drydock/sim/model/workload.h"

#include <algorithm>

namespace drydock::sim::model {

std::size_t WindowOf(const Profile& profile, const Workload& load) {
  if (load.pattern == Pattern::kSingle) return 1;
  return std::min(load.window, profile.limits.send_queue_depth);
}

std::size_t BurstOf(const Profile& profile, const Workload& load) {
  return std::min(load.burst, WindowOf(profile, load));
}

}  // namespace drydock::sim::model
