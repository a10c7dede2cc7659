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
  // kInvalidArgument: an odd number of ranks; others as JoinLaunch. `timeout`: of the calls below,
  // which block until all ranks have made one. Their errors: those of Ranks::AllGatherText.
  static absl::StatusOr<std::unique_ptr<LaunchedPairs>> Join(const Launch& launch,
                                                             coro::Duration timeout);

  bool receives() const { return ranks_->rank() % 2 == 0; }
  // "rank 0 of 4 receives".
  std::string Describe() const;

  // A receiver, which listens at `here`, on all addresses of its machine: tells its sender.
  absl::Status Announce(const coro::TcpAddress& here);
  // A sender: where its receiver is. Errors: also those of TcpAddress::Resolve.
  absl::StatusOr<coro::TcpAddress> FindReceiver();
  // A rank that has failed: where it was to call one of these still, all ranks end. Returns `why`.
  absl::Status GiveUp(const absl::Status& why);

 private:
  LaunchedPairs(std::unique_ptr<Ranks> ranks, coro::Duration timeout)
      : ranks_(std::move(ranks)), timeout_(timeout) {}

  const std::unique_ptr<Ranks> ranks_;
  const coro::Duration timeout_;
};

}  // namespace drydock::apps::batch

#endif  // DRYDOCK_APPS_BATCH_LAUNCHED_PAIRS_H_
