#include "drydock/gpu/topology/locality.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace drydock::gpu::topology {
namespace {

// From the root down to the nearest.
std::vector<int> BridgesAbove(const Machine& machine, const Device& device) {
  std::vector<int> bridges;
  for (int i = device.bridge; i >= 0; i = machine.bridges[i].parent) bridges.push_back(i);
  std::reverse(bridges.begin(), bridges.end());
  return bridges;
}

struct Nearness {
  Locality locality = Locality::kOther;
  std::size_t shared_bridges = 0;

  bool operator==(const Nearness&) const = default;
  bool IsNearerThan(const Nearness& other) const {
    return std::pair(locality, other.shared_bridges) < std::pair(other.locality, shared_bridges);
  }
};

Nearness NearnessOf(const Machine& machine, const Device& a, const Device& b) {
  const std::vector<int> above_a = BridgesAbove(machine, a);
  const std::vector<int> above_b = BridgesAbove(machine, b);
  const std::size_t shared = static_cast<std::size_t>(
      std::mismatch(above_a.begin(), above_a.end(), above_b.begin(), above_b.end()).first -
      above_a.begin());
  if (shared > 0) {
    const bool is_switch = machine.bridges[above_a[shared - 1]].is_switch();
    return {is_switch ? Locality::kSameSwitch : Locality::kSameHostBridge, shared};
  }
  const bool same_node = a.numa_node >= 0 && a.numa_node == b.numa_node;
  return {same_node ? Locality::kSameNumaNode : Locality::kOther, 0};
}

// Indices of equal values, in the order of their first.
template <typename Value>
std::vector<std::vector<int>> Groups(const std::vector<Value>& values) {
  std::vector<std::vector<int>> groups;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& members) {
      return values[members.front()] == values[i];
    });
    if (group != groups.end()) {
      group->push_back(static_cast<int>(i));
    } else {
      groups.push_back({static_cast<int>(i)});
    }
  }
  return groups;
}

// What member `i` of `members` gets of `nics`: a run of them, or one that others get too.
std::vector<int> Share(const std::vector<int>& nics, std::size_t i, std::size_t members) {
  const std::size_t begin = i * nics.size() / members;
  const std::size_t end = std::max((i + 1) * nics.size() / members, begin + 1);
  return {nics.begin() + static_cast<std::ptrdiff_t>(begin),
          nics.begin() + static_cast<std::ptrdiff_t>(std::min(end, nics.size()))};
}

}  // namespace

absl::string_view NameOf(Locality locality) {
  switch (locality) {
    case Locality::kSameSwitch:
      return "same switch";
    case Locality::kSameHostBridge:
      return "same host bridge";
    case Locality::kSameNumaNode:
      return "same NUMA node";
    case Locality::kOther:
      break;
  }
  return "other";
}

Locality LocalityOf(const Machine& machine, const Device& a, const Device& b) {
  return NearnessOf(machine, a, b).locality;
}

NearNics NearestNics(const Machine& machine, const Device& gpu) {
  Nearness best;
  std::vector<int> nics;
  for (std::size_t i = 0; i < machine.nics.size(); ++i) {
    const Nearness nearness = NearnessOf(machine, gpu, machine.nics[i]);
    if (nearness.IsNearerThan(best)) {
      best = nearness;
      nics.clear();
    }
    if (nearness == best) nics.push_back(static_cast<int>(i));
  }
  return {best.locality, std::move(nics)};
}

std::vector<std::vector<int>> PairNics(const Machine& machine) {
  std::vector<NearNics> nearest;
  for (const Device& gpu : machine.gpus) nearest.push_back(NearestNics(machine, gpu));
  std::vector<std::vector<int>> pairs(machine.gpus.size());
  for (const std::vector<int>& gpus : Groups(nearest)) {
    const std::vector<int>& nics = nearest[gpus.front()].nics;
    for (std::size_t i = 0; i < gpus.size(); ++i) pairs[gpus[i]] = Share(nics, i, gpus.size());
  }
  return pairs;
}

CpuList NearestCpus(const Machine& machine, const Device& device) {
  const auto node =
      std::find_if(machine.numa_nodes.begin(), machine.numa_nodes.end(),
                   [&](const NumaNode& known) { return known.number == device.numa_node; });
  return node == machine.numa_nodes.end() ? machine.cpus : node->cpus;
}

std::vector<CpuList> ShareCpus(const Machine& machine) {
  std::vector<CpuList> nearest;
  for (const Device& nic : machine.nics) nearest.push_back(NearestCpus(machine, nic));
  std::vector<CpuList> shares(machine.nics.size());
  for (const std::vector<int>& nics : Groups(nearest)) {
    std::vector<CpuList> parts = SplitCpus(nearest[nics.front()], nics.size());
    for (std::size_t i = 0; i < nics.size(); ++i) shares[nics[i]] = std::move(parts[i]);
  }
  return shares;
}

}  // namespace drydock::gpu::topology
