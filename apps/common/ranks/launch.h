// Whether a launcher started this process as one of several ranks, by its environment: srun of
// Slurm, mpirun of Open MPI, mpiexec of MPICH and Intel MPI. launched_ranks.h joins them.

#ifndef DRYDOCK_APPS_COMMON_RANKS_LAUNCH_H_
#define DRYDOCK_APPS_COMMON_RANKS_LAUNCH_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

namespace drydock::apps {

// The launch that the environment describes.
struct Launch {
  std::string launcher;  // "srun", "mpirun", "mpiexec"
  std::size_t rank = 0;
  std::size_t size = 2;   // 2 or more
  bool has_pmix = false;  // otherwise a rank knows its number, and not where the others are
};

using GetVariable = std::function<const char*(const char* name)>;

// Absent: no launcher, one that started a single rank, or variables that make no sense. A batch
// script of Slurm is no rank, though its environment names one: only tasks of srun are.
std::optional<Launch> FindLaunch(const GetVariable& variable);
std::optional<Launch> FindLaunch();  // of this process

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_RANKS_LAUNCH_H_
