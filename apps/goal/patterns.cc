#include "drydock/apps/goal/patterns.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/coro/check.h"

namespace drydock::apps::goal {
namespace {

using Rank = std::uint32_t;

Op Message(Kind kind, Rank peer, std::uint64_t bytes, std::uint32_t tag, std::uint32_t nic) {
  return {.amount = std::max<std::uint64_t>(bytes, 1),
          .peer = peer,
          .tag = tag,
          .kind = kind,
          .nic = static_cast<std::uint8_t>(nic)};
}

// What NIC `nic` carries of `bytes`.
std::uint64_t ShareOf(std::uint64_t bytes, std::uint32_t nics, std::uint32_t nic) {
  return bytes / nics + (nic < bytes % nics ? 1 : 0);
}

// In each step a rank passes on what it got in the step before.
void AddRing(ScheduleBuilder& builder, Rank rank, const PatternOptions& options) {
  const Rank next = (rank + 1) % options.ranks;
  const Rank previous = (rank + options.ranks - 1) % options.ranks;
  const std::uint64_t chunk = (options.bytes + options.ranks - 1) / options.ranks;
  for (std::uint32_t nic = 0; nic < options.nics; ++nic) {
    const std::uint64_t bytes = ShareOf(chunk, options.nics, nic);
    std::optional<OpIndex> received;
    for (std::uint32_t step = 0; step < 2 * (options.ranks - 1); ++step) {
      const std::uint32_t tag = step * options.nics + nic;
      const OpIndex send = builder.Add(Message(Kind::kSend, next, bytes, tag, nic));
      const OpIndex receive = builder.Add(Message(Kind::kReceive, previous, bytes, tag, nic));
      if (received.has_value()) {
        builder.Require(send, *received);
        builder.Require(receive, *received);  // posted when it is its turn
      }
      received = receive;
    }
  }
}

// Rank r's parent is r without its lowest bit; tag 2 * nic goes up, the next one down.
void AddTree(ScheduleBuilder& builder, Rank rank, const PatternOptions& options) {
  std::vector<Rank> children;
  const Rank lowest = rank == 0 ? std::bit_ceil(options.ranks) : rank & (~rank + 1);
  for (Rank bit = 1; bit < lowest && rank + bit < options.ranks; bit <<= 1) {
    children.push_back(rank + bit);
  }
  for (std::uint32_t nic = 0; nic < options.nics; ++nic) {
    const std::uint64_t bytes = ShareOf(options.bytes, options.nics, nic);
    std::vector<OpIndex> waits;  // before it can go on
    for (const Rank child : children) {
      waits.push_back(builder.Add(Message(Kind::kReceive, child, bytes, 2 * nic, nic)));
    }
    if (rank != 0) {
      const Rank parent = rank - lowest;
      const OpIndex up = builder.Add(Message(Kind::kSend, parent, bytes, 2 * nic, nic));
      for (const OpIndex wait : waits) builder.Require(up, wait);
      waits = {builder.Add(Message(Kind::kReceive, parent, bytes, 2 * nic + 1, nic))};
    }
    // The one with the largest tree below it first.
    for (auto child = children.rbegin(); child != children.rend(); ++child) {
      const OpIndex down = builder.Add(Message(Kind::kSend, *child, bytes, 2 * nic + 1, nic));
      for (const OpIndex wait : waits) builder.Require(down, wait);
    }
  }
}

void AddIncast(ScheduleBuilder& builder, Rank rank, const PatternOptions& options) {
  for (std::uint32_t nic = 0; nic < options.nics; ++nic) {
    const std::uint64_t bytes = ShareOf(options.bytes, options.nics, nic);
    if (rank != 0) {
      builder.Add(Message(Kind::kSend, 0, bytes, nic, nic));
      continue;
    }
    for (Rank other = 1; other < options.ranks; ++other) {
      builder.Add(Message(Kind::kReceive, other, bytes, nic, nic));
    }
  }
}

// Each rank begins with another peer.
void AddAllToAll(ScheduleBuilder& builder, Rank rank, const PatternOptions& options) {
  for (Rank distance = 1; distance < options.ranks; ++distance) {
    const Rank from = (rank + options.ranks - distance) % options.ranks;
    builder.Add(Message(Kind::kReceive, from, options.bytes, 0, distance % options.nics));
  }
  for (Rank distance = 1; distance < options.ranks; ++distance) {
    const Rank to = (rank + distance) % options.ranks;
    builder.Add(Message(Kind::kSend, to, options.bytes, 0, distance % options.nics));
  }
}

struct Pattern {
  absl::string_view name;
  void (*add)(ScheduleBuilder& builder, Rank rank, const PatternOptions& options);
  // Of one rank, at most.
  std::uint64_t (*operations)(std::uint64_t ranks, std::uint64_t nics);
};

constexpr Pattern kPatterns[] = {
    {"ring", AddRing, [](std::uint64_t ranks, std::uint64_t nics) { return 4 * ranks * nics; }},
    {"tree", AddTree, [](std::uint64_t, std::uint64_t nics) { return 4 * nics; }},  // in the mean
    {"incast", AddIncast, [](std::uint64_t, std::uint64_t nics) { return 2 * nics; }},  // the same
    {"alltoall", AddAllToAll, [](std::uint64_t ranks, std::uint64_t) { return 2 * ranks; }},
};

}  // namespace

absl::StatusOr<Schedule> MakePattern(const std::string& name, const PatternOptions& options) {
  for (const Pattern& pattern : kPatterns) {
    if (name != pattern.name) continue;
    const std::uint64_t operations =
        pattern.operations(options.ranks, options.nics) * options.ranks;
    if (operations > kMostOps) {
      return absl::InvalidArgumentError(
          absl::StrCat("pattern ", name, " of ", options.ranks, " ranks of ", options.nics,
                       options.nics == 1 ? " NIC has " : " NICs has ", operations,
                       " operations: at most ", kMostOps));
    }
    ScheduleBuilder builder(options.ranks);
    for (Rank rank = 0; rank < options.ranks; ++rank) {
      builder.BeginRank(rank);
      pattern.add(builder, rank, options);
      DD_CHECK(!builder.EndRank().has_value(), "a pattern waits for itself");
    }
    return std::move(builder).Build();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("pattern '", name, "' does not exist: ring, tree, incast or alltoall"));
}

}  // namespace drydock::apps::goal
