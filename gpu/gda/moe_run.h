// Rounds of dispatch and combine on ranks, checked against the host to the bit.
//
//   MoeRun run(ranks, shape);
//   RETURN_IF_ERROR(run.Open());
//   RETURN_IF_ERROR(run.Fill(seed));
//   ASSIGN_OR_RETURN(const MoeTimes times, run.Round(MoeWay::kNics, grid));
//   ASSIGN_OR_RETURN(const std::uint64_t wrong, run.CountWrong());

#ifndef DRYDOCK_GPU_GDA_MOE_RUN_H_
#define DRYDOCK_GPU_GDA_MOE_RUN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/gpu/gda/device/kernels.h"
#include "drydock/gpu/gda/device/moe_shape.h"
#include "drydock/gpu/gda/grid.h"
#include "drydock/gpu/gda/moe_reference.h"
#include "drydock/gpu/gda/sim_ranks.h"

namespace drydock::gpu::gda {

enum class MoeWay : std::uint8_t {
  kNics,    // by puts, over the simulated NICs
  kCopies,  // by stores into the memory of peers
};

// By the devices' clocks: of the slowest rank, with its last barrier.
struct MoeTimes {
  std::uint64_t dispatch_ns = 0;
  std::uint64_t combine_ns = 0;
};

// The ranks outlive it. Threads: as SimRanks.
class MoeRun {
 public:
  // REQUIRES: windows of WindowBytes(shape); shape.ranks is how many there are.
  MoeRun(SimRanks& ranks, const MoeShape& shape);

  static std::size_t WindowBytes(const MoeShape& shape) { return MoeLayout(shape).bytes(); }

  // The driver's error: no memory for it.
  absl::Status Open();
  // Tokens, choices and weights of all ranks, by the seed; results are garbage from now on.
  absl::Status Fill(std::uint64_t seed);
  // Both kernels on all ranks, one after the other. As many warps a rank as there are queues, or
  // fewer; all ranks' blocks are resident together. kInternal: ranks failed; the message has what
  // and at which peer, of each. Nothing more is promised of the ranks then.
  absl::StatusOr<MoeTimes> Round(MoeWay way, Grid grid);
  // Words of all results that are not those that the host computes.
  absl::StatusOr<std::uint64_t> CountWrong();

 private:
  struct Rank {
    MoeInput input;
    MoeState* nics_state = nullptr;  // of the device
    MoeState* copies_state = nullptr;
    SharedMemory report;
  };

  absl::StatusOr<std::uint64_t> RunKernel(MoeWay way, bool combine, Grid grid);
  absl::Status Launch(std::uint32_t rank, MoeWay way, bool combine, Grid grid);

  SimRanks& ranks_;
  const MoeLayout layout_;
  std::vector<Rank> each_;
};

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_MOE_RUN_H_
