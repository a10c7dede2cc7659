#include "drydock/sim/machine/numa.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "drydock/sim/machine/node.h"

namespace drydock::sim {
namespace {

using fabric::OperationKind;

// How often something passes between two nodes. A DMA read is a request and the data; a DMA write
// is only data, with no answer to wait for.
constexpr int kCrossingsOfRead = 2;
constexpr int kCrossingsOfWrite = 1;

constexpr double kPicosecondsPerNanosecond = 1000;

// Of the first of these bytes; 0, where nothing is ever placed, for those that travel in the work
// request.
std::uint64_t LocalAddress(const Operation& operation, Range range) {
  std::uint64_t first = 0;
  if (operation.is_inline) return first;
  operation.Walk({range.offset, 1}, [&](const Segment& piece) { first = piece.address; });
  return first;
}

}  // namespace

// ---- Calls of a program ----

absl::Status Numa::CheckNode(const Node& machine, int numa_node) const {
  const auto nodes = static_cast<int>(machine.profile().numa_cpus.size());
  if (numa_node != kAnywhere && (numa_node < 0 || numa_node >= nodes)) {
    return absl::InvalidArgumentError(absl::StrCat("NUMA node ", numa_node, ": profile ",
                                                   machine.profile().name, " has ", nodes));
  }
  if (around_.timeline.real()) {
    return absl::FailedPreconditionError(
        "place memory or a thread: on the machine's clock no way takes longer than another");
  }
  return absl::OkStatus();
}

absl::Status Numa::PlaceMemory(Node& machine, std::span<const std::byte> memory, int numa_node) {
  const absl::Status known = CheckNode(machine, numa_node);
  if (!known.ok() || memory.empty()) return known;
  Enter(machine);
  const auto begin = reinterpret_cast<std::uint64_t>(memory.data());
  const std::uint64_t end = begin + memory.size();
  auto next = memory_.lower_bound(begin);
  if (next != memory_.begin() && std::prev(next)->second.end > begin) --next;
  while (next != memory_.end() && next->first < end) next = memory_.erase(next);
  if (numa_node != kAnywhere) memory_[begin] = {end, numa_node};
  return absl::OkStatus();
}

absl::Status Numa::PlaceThread(Node& machine, std::size_t nic, int numa_node) {
  absl::Status known = CheckNode(machine, numa_node);
  if (!known.ok()) return known;
  if (nic >= machine.nic_count()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "NIC ", nic, ": profile ", machine.profile().name, " has ", machine.nic_count()));
  }
  Enter(machine);
  nics_[machine.nic(nic).index()].thread = numa_node;
  return known;
}

void Numa::Enter(Node& machine) {
  const Profile& profile = machine.profile();
  around_.host_path = this;
  for (std::size_t i = 0; i < machine.nic_count(); ++i) {
    const NicState& nic = machine.nic(i).state();
    nics_.resize(std::max<std::size_t>(nics_.size(), nic.index() + 1u));
    machines_.resize(std::max<std::size_t>(machines_.size(), nic.machine() + 1u));
    machines_[nic.machine()].upstream.resize(profile.pcie_switches.size());
    Place& place = nics_[nic.index()];
    if (place.known) return;
    place.known = true;
    place.numa_node = profile.nics[i].numa_node;
    place.pcie_switch = profile.nics[i].pcie_switch;
  }
}

// ---- Costs ----

coro::Duration Numa::Link::Pass(std::uint64_t bytes, double gbytes_per_s, coro::Time at) {
  if (gbytes_per_s <= 0) return {};
  const auto takes = static_cast<std::uint64_t>(static_cast<double>(bytes) *
                                                kPicosecondsPerNanosecond / gbytes_per_s);
  const auto at_ps = static_cast<std::uint64_t>(at.time_since_epoch().count()) * 1000;
  // The NIC's own link has spaced the packets already: an idle link adds nothing.
  free_ps_ = std::max(free_ps_, at_ps - std::min(at_ps, takes)) + takes;
  return coro::Duration(
      static_cast<std::int64_t>(free_ps_ > at_ps ? (free_ps_ - at_ps) / 1000 : 0));
}

const Numa::Place* Numa::Find(const NicState& nic) const {
  if (nic.index() >= nics_.size() || !nics_[nic.index()].known) return nullptr;
  return &nics_[nic.index()];
}

int Numa::NodeOf(std::uint64_t address) const {
  const auto after = memory_.upper_bound(address);
  if (after == memory_.begin()) return kAnywhere;
  const Placed& placed = std::prev(after)->second;
  return address < placed.end ? placed.numa_node : kAnywhere;
}

// Of two queues in a row the longer one counts: while bytes wait in the first, the second moves on.
Numa::Crossing Numa::Cross(const NicState& nic, std::uint64_t address, Direction direction,
                           std::uint64_t bytes, coro::Time at) {
  const Place* place = Find(nic);
  const int memory = NodeOf(address);
  if (place == nullptr || memory == kAnywhere) return {};
  const Profile& profile = nic.profile;
  Machine& machine = machines_[nic.machine()];
  Crossing crossing;
  if (place->pcie_switch >= 0) {
    const double rate = profile.pcie_switches[place->pcie_switch].upstream_gbytes_per_s;
    crossing.queued = machine.upstream[place->pcie_switch][direction].Pass(bytes, rate, at);
  }
  if (place->numa_node == kAnywhere || place->numa_node == memory) return crossing;
  const bool from = direction == kFromMemory;
  Link& link = machine.between[from ? std::pair(memory, place->numa_node)
                                    : std::pair(place->numa_node, memory)];
  crossing.queued = std::max(crossing.queued, link.Pass(bytes, profile.numa_link_gbytes_per_s, at));
  crossing.way = profile.numa_crossing * (from ? kCrossingsOfRead : kCrossingsOfWrite);
  return crossing;
}

// Both ends are worked out when the packet leaves, and take the bytes in as of that time. A link
// carries what its machine sends and what it receives: one that was told of bytes that come later
// would keep what leaves now waiting for them, and the more of both there is, the longer.
coro::Duration Numa::DelayOf(const Operation& operation, bool response, Range range,
                             coro::Time sent) {
  if (range.length == 0) return {};
  const NicState& sender = response ? *operation.peer : *operation.initiator;
  const NicState& receiver = response ? *operation.initiator : *operation.peer;
  const std::uint64_t local = LocalAddress(operation, range);
  const std::uint64_t remote = operation.remote_address + range.offset;
  const Crossing from = Cross(sender, response ? remote : local, kFromMemory, range.length, sent);
  // Which receive takes a message is not known.
  if (operation.kind == OperationKind::kSend) return from.queued + from.way;
  const Crossing to = Cross(receiver, response ? local : remote, kToMemory, range.length, sent);
  return std::max(from.queued, to.queued) + from.way + to.way;
}

coro::Duration Numa::Search(const NicState& nic) const {
  const Place* place = Find(nic);
  const bool far = place != nullptr && place->thread != kAnywhere &&
                   place->numa_node != kAnywhere && place->thread != place->numa_node;
  return far ? sim::FarThreadCost(nic.profile) : coro::Duration{};
}

}  // namespace drydock::sim
