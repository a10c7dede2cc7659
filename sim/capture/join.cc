#include "drydock/sim/capture/join.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"

namespace drydock::sim::capture {
namespace {

using fabric::OperationKind;

// ---- Peers ----

coro::Duration OpenedAt(const Capture& capture, const Elsewhere& endpoint) {
  return capture.nodes[endpoint.node].endpoints[endpoint.index].opened;
}

// Of the lives of one address, in the order of opening, the one that began last before `time`; the
// first one if none did.
Elsewhere Latest(const Capture& capture, const std::vector<Elsewhere>& lives, coro::Duration time) {
  const auto later = std::upper_bound(
      lives.begin(), lives.end(), time,
      [&](coro::Duration at, const Elsewhere& life) { return at < OpenedAt(capture, life); });
  return later == lives.begin() ? lives.front() : *(later - 1);
}

void FindPeers(Capture& capture) {
  std::map<std::string, std::vector<Elsewhere>> lives;  // by address, in the order of opening
  for (Index n = 0; n < capture.nodes.size(); ++n) {
    const std::vector<Endpoint>& endpoints = capture.nodes[n].endpoints;
    for (Index e = 0; e < endpoints.size(); ++e) {
      lives[endpoints[e].address.ToHex()].push_back({n, e});
    }
  }
  for (auto& [address, of_one] : lives) {
    std::stable_sort(of_one.begin(), of_one.end(), [&](const Elsewhere& a, const Elsewhere& b) {
      return OpenedAt(capture, a) < OpenedAt(capture, b);
    });
  }
  for (Node& node : capture.nodes) {
    for (const Step& step : node.steps) {
      if (step.kind != StepKind::kInsertPeer) continue;
      PeerEntry& peer = node.peers[step.index];
      const auto found = lives.find(peer.address.ToHex());
      if (found != lives.end()) peer.endpoint = Latest(capture, found->second, step.time);
    }
  }
}

const Endpoint* EndpointOf(const Capture& capture, const Node& node, const Operation& operation,
                           Index* at = nullptr) {
  if (operation.peer == kNowhere) return nullptr;
  const Elsewhere& found = node.peers[operation.peer].endpoint;
  if (!found.found()) return nullptr;
  if (at != nullptr) *at = found.node;
  return &capture.nodes[found.node].endpoints[found.index];
}

// ---- Keys ----

bool Holds(const Region& region, const fabric::RemoteBuffer& remote) {
  return remote.address >= region.remote.address &&
         remote.address - region.remote.address < region.length;
}

// Of all machines, by machine, NIC and key, in the order of opening.
using Keys = std::map<std::tuple<Index, Index, std::uint64_t>, std::vector<Index>>;

Keys CollectKeys(const Capture& capture) {
  Keys keys;
  for (Index n = 0; n < capture.nodes.size(); ++n) {
    const std::vector<Region>& regions = capture.nodes[n].regions;
    for (Index r = 0; r < regions.size(); ++r) {
      keys[{n, regions[r].nic, regions[r].remote.key}].push_back(r);
    }
  }
  return keys;
}

// The region that the operation means: of those with its key that were opened before the post, the
// last one that holds its address. Of a key that was given out over and over, not all are looked
// at.
Elsewhere TargetOf(const Capture& capture, const Keys& keys, const Node& node,
                   const Operation& operation) {
  constexpr std::ptrdiff_t kMostLives = 64;
  Index at = 0;
  const Endpoint* endpoint = EndpointOf(capture, node, operation, &at);
  if (endpoint == nullptr) return {};
  const auto found = keys.find({at, endpoint->nic, operation.remote.key});
  if (found == keys.end()) return {};
  const std::vector<Region>& regions = capture.nodes[at].regions;
  const std::vector<Index>& lives = found->second;
  const auto later =
      std::upper_bound(lives.begin(), lives.end(), operation.posted,
                       [&](coro::Duration posted, Index r) { return posted < regions[r].opened; });
  const auto first = later - std::min(kMostLives, later - lives.begin());
  for (auto life = later; life != first;) {
    if (Holds(regions[*--life], operation.remote)) return {at, *life};
  }
  return {at, later == lives.begin() ? *later : *(later - 1)};
}

void FindTargets(Capture& capture) {
  const Keys keys = CollectKeys(capture);
  for (Node& node : capture.nodes) {
    for (Operation& operation : node.operations) {
      const bool remote =
          operation.kind == OperationKind::kWrite || operation.kind == OperationKind::kRead;
      if (remote) operation.target = TargetOf(capture, keys, node, operation);
    }
  }
}

// ---- Clocks ----

constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::min();

// By how much the clock of a file has to be ahead of another's at least: [from][to].
using Leads = std::vector<std::vector<std::int64_t>>;

void AtLeast(Leads& leads, std::size_t from, std::size_t to, coro::Duration sent,
             coro::Duration seen) {
  if (from == to) return;
  leads[from][to] = std::max(leads[from][to], (sent - seen).count());
}

// The completions in one queue, from one file: the k-th to arrive was not sent before the k-th to
// be sent, in any order.
struct Channel {
  std::set<std::size_t> files;  // of the senders
  std::vector<coro::Duration> sent;
  std::vector<coro::Duration> seen;
};
// By node, queue, and the kind of the operation that ends there.
using Channels = std::map<std::tuple<Index, Index, OperationKind>, Channel>;

void CollectSent(const Capture& capture, const Node& node, Channels& channels) {
  for (const Operation& operation : node.operations) {
    Index at = 0;
    const Endpoint* endpoint = EndpointOf(capture, node, operation, &at);
    const bool announced =
        operation.kind == OperationKind::kWrite && operation.immediate.has_value();
    if (endpoint == nullptr || !(IsMessage(operation.kind) || announced)) continue;
    OperationKind end = OperationKind::kRemoteWrite;
    if (operation.kind == OperationKind::kSend) end = OperationKind::kReceive;
    if (operation.kind == OperationKind::kTaggedSend) end = OperationKind::kTaggedReceive;
    Channel& channel = channels[{at, endpoint->receive_queue, end}];
    channel.files.insert(node.file);
    channel.sent.push_back(operation.posted);
  }
}

void CollectSeen(const Node& node, Index number, Channels& channels) {
  for (const Step& step : node.steps) {
    if (step.kind != StepKind::kRead) continue;
    const Seen& seen = node.seen[step.index];
    const OperationKind end = seen.operation == kNowhere ? OperationKind::kRemoteWrite
                                                         : node.operations[seen.operation].kind;
    const bool came = end == OperationKind::kRemoteWrite || IsReceive(end);
    if (seen.status != fabric::ErrorCode::kOk || !came) continue;
    channels[{number, seen.queue, end}].seen.push_back(step.time);
  }
}

Leads FindLeads(const Capture& capture) {
  Leads leads(capture.backends.size(), std::vector(capture.backends.size(), kUnknown));
  Channels channels;
  for (Index n = 0; n < capture.nodes.size(); ++n) {
    CollectSent(capture, capture.nodes[n], channels);
    CollectSeen(capture.nodes[n], n, channels);
  }
  for (auto& [key, channel] : channels) {
    if (channel.files.size() != 1) continue;
    std::sort(channel.sent.begin(), channel.sent.end());
    const std::size_t count = std::min(channel.sent.size(), channel.seen.size());
    for (std::size_t i = 0; i < count; ++i) {
      AtLeast(leads, *channel.files.begin(), capture.nodes[std::get<0>(key)].file, channel.sent[i],
              channel.seen[i]);
    }
  }
  for (const Node& node : capture.nodes) {
    for (const Operation& operation : node.operations) {
      if (!operation.target.found() || operation.status != fabric::ErrorCode::kOk) continue;
      const Node& target = capture.nodes[operation.target.node];
      AtLeast(leads, target.file, node.file, target.regions[operation.target.index].opened,
              operation.posted);
    }
  }
  return leads;
}

// The middle of the range that the files before it leave to file `to`.
std::int64_t ShiftOf(const Leads& leads, const std::vector<std::int64_t>& shifts, std::size_t to) {
  std::int64_t least = kUnknown;
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (std::size_t from = 0; from < to; ++from) {
    if (leads[from][to] != kUnknown) least = std::max(least, shifts[from] + leads[from][to]);
    if (leads[to][from] != kUnknown) most = std::min(most, shifts[from] - leads[to][from]);
  }
  const bool bounded = most != std::numeric_limits<std::int64_t>::max();
  if (least == kUnknown) return bounded ? std::min<std::int64_t>(most, 0) : 0;
  return bounded && most > least ? least + (most - least) / 2 : least;
}

void Shift(Node& node, coro::Duration by) {
  for (Step& step : node.steps) step.time += by;
  for (Region& region : node.regions) region.opened += by;
  for (Endpoint& endpoint : node.endpoints) endpoint.opened += by;
  for (Operation& operation : node.operations) operation.posted += by;
}

void AlignClocks(Capture& capture) {
  const Leads leads = FindLeads(capture);
  std::vector<std::int64_t> shifts(capture.backends.size(), 0);
  for (std::size_t file = 1; file < shifts.size(); ++file) {
    shifts[file] = ShiftOf(leads, shifts, file);
  }
  coro::Duration first = coro::Duration::max();
  for (Node& node : capture.nodes) {
    Shift(node, coro::Duration(shifts[node.file]));
    first = std::min(first, node.steps.front().time);
  }
  for (Node& node : capture.nodes) Shift(node, -first);
}

// ---- Missing peers ----

absl::Status CheckPeers(const Capture& capture) {
  for (const Node& node : capture.nodes) {
    for (const Operation& operation : node.operations) {
      if (!operation.sends() || operation.status != fabric::ErrorCode::kOk) continue;
      if (EndpointOf(capture, node, operation) != nullptr) continue;
      const std::string what =
          absl::StrCat(node.name, ": operation ", operation.number, " reached ");
      if (operation.peer == kNowhere) {
        return absl::InvalidArgumentError(
            absl::StrCat(what, "a peer that its address vector does not have in this trace"));
      }
      return absl::InvalidArgumentError(
          absl::StrCat(what, "a peer (", node.peers[operation.peer].address.ToHex(),
                       ") that is in none of these traces: give that process's trace, too"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Join(Capture& capture) {
  FindPeers(capture);
  RETURN_IF_ERROR(CheckPeers(capture));
  FindTargets(capture);
  AlignClocks(capture);
  // Once more: of several lives of an address or key, another one may be meant on one clock.
  FindPeers(capture);
  FindTargets(capture);
  return absl::OkStatus();
}

}  // namespace drydock::sim::capture
