#include "drydock/apps/common/ranks/launched_ranks.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/apps/common/ranks/pmix_ranks.h"
#include "drydock/apps/common/units.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/steady_clock.h"

namespace drydock::apps {

absl::StatusOr<std::unique_ptr<Ranks>> JoinLaunch(const Launch& launch) {
  if (launch.has_pmix) return JoinByPmix(launch.rank, launch.size);
  const char* const remedy =
      launch.launcher == "srun" ? ": add --mpi=pmix to srun"
      : launch.launcher == "mpiexec"
          ? ", as MPICH and Intel MPI do: start them by mpirun of Open MPI, or by srun --mpi=pmix"
          : "";
  return absl::UnimplementedError(absl::StrCat(
      launch.launcher, " started ", FormatCount(launch.size, "rank"), " without PMIx", remedy));
}

absl::StatusOr<std::vector<std::string>> GatherText(Ranks& ranks, absl::StatusOr<std::string> mine,
                                                    coro::Duration timeout) {
  coro::SteadyClock clock;
  coro::EventLoop loop(clock);
  return loop.Run(ranks.AllGatherText(std::move(mine), coro::After(loop.Now(), timeout)));
}

absl::Status GiveUp(Ranks& ranks, const absl::Status& why, coro::Duration timeout) {
  return ranks.has_given() ? why : GatherText(ranks, why, timeout).status();
}

}  // namespace drydock::apps
