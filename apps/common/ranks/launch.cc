#include "drydock/apps/common/ranks/launch.h"

#include <array>
#include <cstdint>
#include <cstdlib>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"

namespace drydock::apps {
namespace {

constexpr absl::string_view kHydra = "mpiexec";

struct Variables {
  absl::string_view launcher;
  const char* rank;
  const char* size;
};
// Slurm's srun(1), "OUTPUT ENVIRONMENT VARIABLES"; those of Hydra, the launcher of MPICH and of
// Intel MPI; Open MPI's mpirun(1), "Exported Environment Variables". SLURM_NTASKS is not asked:
// batch scripts have it, too.
constexpr std::array<Variables, 3> kLaunchers = {
    {{"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
     {kHydra, "PMI_RANK", "PMI_SIZE"},
     {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}}};

std::optional<std::size_t> Number(const GetVariable& variable, const char* name) {
  const char* const text = variable(name);
  std::uint64_t number = 0;
  if (text == nullptr || !absl::SimpleAtoi(text, &number)) return std::nullopt;
  return number;
}

}  // namespace

std::optional<Launch> FindLaunch(const GetVariable& variable) {
  std::optional<Launch> found;
  // The innermost launcher has set its variables last, but none says which it is: the others
  // start their daemons by srun in a job of Slurm, and so come later here.
  for (const Variables& names : kLaunchers) {
    const std::optional<std::size_t> rank = Number(variable, names.rank);
    const std::optional<std::size_t> size = Number(variable, names.size);
    if (!rank.has_value() || !size.has_value() || *rank >= *size) continue;
    // srun --mpi=pmi2 sets Hydra's variables, too.
    const bool is_hydra = names.launcher == kHydra;
    const bool is_same = found.has_value() && found->rank == *rank && found->size == *size;
    if (is_same && is_hydra) continue;
    // In a job of Slurm, Hydra's ranks have the variables of its daemons' PMIx: it is not theirs.
    const bool has_pmix = !is_hydra && variable("PMIX_NAMESPACE") != nullptr;
    found = Launch{std::string(names.launcher), *rank, *size, has_pmix};
  }
  // One rank was started together with nobody: a shell of a job, for example, in which more follow.
  if (found.has_value() && found->size == 1) return std::nullopt;
  return found;
}

std::optional<Launch> FindLaunch() {
  return FindLaunch([](const char* name) -> const char* { return std::getenv(name); });
}

}  // namespace drydock::apps
