#include "drydock/sim/model/workload.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace drydock::sim::model {
namespace {

// NICs that share a switch with a GPU, for each GPU there.
std::size_t NicsNearGpu(const Profile& profile) {
  if (profile.gpus.empty()) return profile.nics.size();
  const int place = profile.gpus[0].pcie_switch;
  const auto there = [place](const auto& device) { return device.pcie_switch == place; };
  const auto nics = std::count_if(profile.nics.begin(), profile.nics.end(), there);
  const auto gpus = std::count_if(profile.gpus.begin(), profile.gpus.end(), there);
  return static_cast<std::size_t>(std::max<std::ptrdiff_t>(1, nics / gpus));
}

std::size_t CountOfActiveNics(const Profile& profile, const Workload& load) {
  // One page of a GPU at a time is on one NIC, unless it is cut.
  const bool one_page = load.pattern == Pattern::kSingle && load.policy != Policy::kSplit;
  const std::size_t most = one_page ? std::min(load.nics, load.gpus) : load.nics;
  switch (load.policy) {
    case Policy::kByPeer:
      return std::min(most, load.gpus * load.peers);
    case Policy::kPinned:
      return std::min(most, load.gpus);
    case Policy::kNearFirst:
      return std::min(most, load.gpus * NicsNearGpu(profile));
    default:
      return most;
  }
}

}  // namespace

std::size_t WindowOf(const Profile& profile, const Workload& load) {
  if (load.pattern == Pattern::kSingle) return 1;
  return std::min(load.window, profile.limits.send_queue_depth);
}

std::size_t BurstOf(const Profile& profile, const Workload& load) {
  return std::min(load.burst, WindowOf(profile, load));
}

std::vector<std::size_t> ActiveNics(const Profile& profile, const Workload& load) {
  const std::size_t count = CountOfActiveNics(profile, load);
  const std::size_t each = (count + load.gpus - 1) / load.gpus;
  // From the place of a GPU to that of the next one: profiles list NICs in the order of GPUs. A
  // workload that names fewer of them has them closer together.
  const std::size_t apart = profile.nics.size() / std::max<std::size_t>(1, profile.gpus.size());
  const std::size_t step = std::max(each, std::min(apart, load.nics / load.gpus));
  std::vector<std::size_t> nics;
  for (std::size_t i = 0; i < count; ++i) nics.push_back(i / each * step + i % each);
  return nics;
}

}  // namespace drydock::sim::model
