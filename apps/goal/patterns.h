// Collectives as schedules, made here instead of read: what the network of a large machine is asked about
// first.
//
//   ring      allreduce: reduce-scatter, then allgather; each rank sends to the next one only
//   tree      allreduce: up a binomial tree to rank 0, then down
//   incast    every rank sends to rank 0
//   alltoall  every rank sends to every other one
//
// All NICs of a rank work: in ring, tree and incast each of them carries its share of every message;
// in alltoall the NIC depends on the pair. Reducing takes no time.

#ifndef DRYDOCK_APPS_GOAL_PATTERNS_H_
#define DRYDOCK_APPS_GOAL_PATTERNS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "drydock/apps/goal/schedule.h"

namespace drydock::apps::goal {

struct PatternOptions {
  std::uint32_t ranks = 4;
  std::uint32_t nics = 1;  // of each
  // Of a rank: what ring and tree reduce, what incast sends, and what alltoall sends to each other
  // one. A message that would be empty has a byte.
  std::uint64_t bytes = 1 << 20;
};

// `name`: as above. kInvalidArgument: there is no such pattern, or it has more operations than
// kMostOps. REQUIRES: 2 to kMostRanks ranks, 1 to 256 NICs.
absl::StatusOr<Schedule> MakePattern(const std::string& name, const PatternOptions& options);

}  // namespace drydock::apps::goal

#endif  // DRYDOCK_APPS_GOAL_PATTERNS_H_
