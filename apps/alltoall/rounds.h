// Runs one rank from start to end: it meets the other ranks, does its rounds, and collects the
// results of all ranks.

#ifndef DRYDOCK_APPS_ALLTOALL_ROUNDS_H_
#define DRYDOCK_APPS_ALLTOALL_ROUNDS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/apps/alltoall/member.h"
#include "drydock/apps/common/ranks/ranks.h"
#include "drydock/coro/task.h"
#include "drydock/coro/time.h"

namespace drydock::apps::alltoall {

// Of all ranks, by rank.
using Results = std::vector<RankResult>;

struct RoundsOptions {
  coro::Duration timeout = std::chrono::seconds(100);  // for the exchange of results
  std::function<void(std::uint32_t done)> progress = [](std::uint32_t) {};
};

// `member` and `ranks` must outlive the task. Error messages begin with the rank and the round.
coro::Task<absl::StatusOr<Results>> PlayRank(Member& member, Ranks& ranks, RoundsOptions options);

// All ranks on this loop; the first one shows progress. The first error ends all of them.
coro::Task<absl::StatusOr<Results>> PlayAll(std::span<const std::unique_ptr<Member>> members,
                                            std::span<const std::unique_ptr<Ranks>> ranks,
                                            RoundsOptions options);

}  // namespace drydock::apps::alltoall

#endif  // DRYDOCK_APPS_ALLTOALL_ROUNDS_H_
