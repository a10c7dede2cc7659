// Ranks of a launcher, two by two: an even one receives what the next one sends.

#ifndef DRYDOCK_APPS_BATCH_LAUNCHED_PAIRS_H_
#define DRYDOCK_APPS_BATCH_LAUNCHED_PAIRS_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/apps/common/ranks/launch.h"
#include "drydock/apps/common/ranks/ranks.h"
#include "drydock/coro/tcp.h"
#include "drydock/coro/time.h"

namespace drydock::apps::batch {

// This process's part. Not thread-safe.
class LaunchedPairs {
 public:
  // kInvalidArgument: an odd number of ranks; others as JoinLaunch.
  static absl::StatusOr<std::unique_ptr<LaunchedPairs>> Join(const Launch& launch);

  bool receives() const { return ranks_->rank() % 2 == 0; }
  // "rank 0 of 4 receives".
  std::string Describe() const;

  // A receiver, which listens at `here`, on all addresses of its machine: tells its sender. Blocks.
  // Errors: those of Ranks::AllGather.
  absl::Status Announce(const coro::TcpAddress& here, coro::Duration timeout);
  // A sender: where its receiver is. Errors: the same, and those of TcpAddress::Resolve.
  absl::StatusOr<coro::TcpAddress> FindReceiver(coro::Duration timeout);

 private:
  explicit LaunchedPairs(std::unique_ptr<Ranks> ranks) : ranks_(std::move(ranks)) {}

  const std::unique_ptr<Ranks> ranks_;
};

}  // namespace drydock::apps::batch

#endif  // DRYDOCK_APPS_BATCH_LAUNCHED_PAIRS_H_
