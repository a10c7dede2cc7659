#include "drydock/apps/affinity/plan.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/coro/keyed_random.h"
#include "drydock/gpu/topology/locality.h"

namespace drydock::apps::affinity {
namespace {

using gpu::topology::Device;
using gpu::topology::Machine;
using gpu::topology::NumaNode;

// Of the NIC, or the one that stands for it; kAnywhere where the machine tells of no node.
int HomeOf(const Machine& machine, const Device& nic) {
  if (nic.numa_node >= 0 || machine.numa_nodes.empty()) return nic.numa_node;
  return machine.numa_nodes.front().number;
}

// The next one, so that every node is far from exactly one.
int FarFrom(const Machine& machine, int home) {
  const std::vector<NumaNode>& nodes = machine.numa_nodes;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].number == home) return nodes[(i + 1) % nodes.size()].number;
  }
  return home;
}

}  // namespace

absl::string_view NameOf(Policy policy) {
  switch (policy) {
    case Policy::kNear:
      return "near";
    case Policy::kFar:
      return "far";
    case Policy::kNone:
      break;
  }
  return "none";
}

absl::StatusOr<std::vector<Policy>> ParsePolicies(absl::string_view text) {
  const std::vector<Policy> all = {Policy::kNear, Policy::kFar, Policy::kNone};
  if (text == "all") return all;
  for (const Policy policy : all) {
    if (text == NameOf(policy)) return std::vector<Policy>{policy};
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--policy=", text, " does not exist: near, far, none or all"));
}

Machine WithNics(Machine machine, std::span<const fabric::NicInfo> nics) {
  const std::vector<Device> known = std::exchange(machine.nics, {});
  for (const fabric::NicInfo& nic : nics) {
    const auto same = std::find_if(known.begin(), known.end(), [&](const Device& device) {
      return !nic.pci_address.empty() && device.pci_address == nic.pci_address;
    });
    Device device;
    if (same != known.end()) device = *same;
    device.name = nic.name;
    if (device.numa_node < 0) device.numa_node = nic.numa_node;
    machine.nics.push_back(std::move(device));
  }
  return machine;
}

std::vector<std::size_t> ChooseNics(const Machine& machine, std::size_t most) {
  // By how many others of its switch, and then of its node, come before a NIC.
  std::map<std::pair<int, int>, int> on_switch;
  std::map<std::pair<int, int>, int> on_node;
  std::vector<std::tuple<int, int, std::size_t>> order;
  for (std::size_t i = 0; i < machine.nics.size(); ++i) {
    const Device& nic = machine.nics[i];
    const int round = on_switch[{nic.numa_node, nic.bridge}]++;
    order.emplace_back(round, on_node[{nic.numa_node, round}]++, i);
  }
  std::sort(order.begin(), order.end());
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < std::min(most, order.size()); ++i) {
    chosen.push_back(std::get<2>(order[i]));
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

std::vector<Seat> PlanSeats(const Machine& machine, std::span<const std::size_t> nics,
                            Policy policy) {
  Machine moved = machine;  // each NIC on the node that it is to be served from
  for (Device& nic : moved.nics) {
    const int home = HomeOf(machine, nic);
    nic.numa_node = policy == Policy::kFar ? FarFrom(machine, home) : home;
  }
  const std::vector<gpu::topology::CpuList> cpus = ShareCpus(moved);
  std::vector<Seat> seats;
  for (const std::size_t nic : nics) {
    Seat seat;
    seat.nic = nic;
    seat.name = machine.nics[nic].name;
    seat.nic_node = machine.nics[nic].numa_node;
    if (policy != Policy::kNone) {
      seat.thread_node = seat.memory_node = moved.nics[nic].numa_node;
      seat.cpus = cpus[nic];
    }
    seats.push_back(std::move(seat));
  }
  return seats;
}

void SeatAnywhere(const Machine& machine, std::uint64_t seed, std::span<Seat> seats) {
  const std::vector<NumaNode>& nodes = machine.numa_nodes;
  if (nodes.empty()) return;
  for (Seat& seat : seats) {
    const std::uint64_t word = coro::Combine(coro::Mix(seed), seat.nic);
    seat.thread_node = nodes[coro::Below(word, nodes.size())].number;
    seat.memory_node = nodes.front().number;
  }
}

}  // namespace drydock::apps::affinity
