// Ranks that a launcher started together: srun of Slurm, mpirun of Open MPI.
//
//   if (const std::optional<Launch> launch = FindLaunch(); launch.has_value()) {
//     ASSIGN_OR_RETURN(const std::unique_ptr<Ranks> ranks, JoinLaunch(*launch));
//
// The launcher's environment says which rank this is, of how many; the ranks' data goes by PMIx,
// the interface that Slurm and Open MPI share (openpmix.org), to the launcher's daemons.

#ifndef DRYDOCK_APPS_COMMON_RANKS_LAUNCHED_RANKS_H_
#define DRYDOCK_APPS_COMMON_RANKS_LAUNCHED_RANKS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/apps/common/ranks/launch.h"
#include "drydock/apps/common/ranks/ranks.h"
#include "drydock/coro/time.h"

namespace drydock::apps {

// Blocks until the launcher's daemon answers. kUnimplemented: no PMIx, and the message has the
// remedy: this program was built without its headers, the library is not installed, or the launcher
// offers none; kUnavailable: the daemon refuses, with PMIx's words. One at a time in a process. Its
// AllGather: kDeadlineExceeded, kUnavailable, kInternal, with PMIx's words.
absl::StatusOr<std::unique_ptr<Ranks>> JoinLaunch(const Launch& launch);

// AllGatherText on a loop of its own, for at most `timeout`: blocks. Errors: those of
// AllGatherText. REQUIRES: no loop of this thread runs.
absl::StatusOr<std::vector<std::string>> GatherText(Ranks& ranks, absl::StatusOr<std::string> mine,
                                                    coro::Duration timeout);

// For a rank that has failed. If it has given nothing yet, the others wait for it: tells them
// `why`, as AllGatherText does, for at most `timeout`. Returns `why`. REQUIRES: as GatherText; the
// others begin with AllGatherText.
absl::Status GiveUp(Ranks& ranks, const absl::Status& why, coro::Duration timeout);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_RANKS_LAUNCHED_RANKS_H_
