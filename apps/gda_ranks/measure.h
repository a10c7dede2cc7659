// What the program measures: puts and signals of each GPU, and transfers between pairs of them.

#ifndef DRYDOCK_APPS_GDA_RANKS_MEASURE_H_
#define DRYDOCK_APPS_GDA_RANKS_MEASURE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/gpu/device_memory.h"
#include "drydock/gpu/gda/device/kernels.h"
#include "drydock/gpu/gda/grid.h"
#include "drydock/sim/profile/profile.h"

namespace drydock::apps::gda_ranks {

// One way to put: `blocks` of `threads`, each block `batch` at a time.
struct PutWay {
  std::string name;
  gpu::gda::Grid grid;
  std::uint32_t queues = 1;
  std::uint32_t batch = 1;
  bool signals = false;
  gpu::gda::Sharing sharing = gpu::gda::Sharing::kExclusive;
};

struct Rate {
  double each_ns = 0;     // of one operation of a GPU: its time by its number
  double per_second = 0;  // operations of all GPUs together
  bool correct = true;    // every byte is where it was put
};

// Of each GPU.
inline constexpr std::uint64_t kMostPuts = 1'000'000'000'000;

// Each device puts `count` times 64 bytes of host memory to a peer, rounded up to whole batches of
// every block, all at the same time; each pair has NICs and a thread for them of its own. Errors:
// those of SimRanks; kInternal: a put failed. REQUIRES: 0 < count <= kMostPuts.
absl::StatusOr<Rate> MeasurePuts(const sim::Profile& profile,
                                 const std::vector<gpu::Device*>& devices, const PutWay& way,
                                 std::uint64_t count);

// On each device two ranks signal each other by turns, with 64 bytes, `rounds` times there and back.
// One operation is a put with signal until the other rank has counted it.
absl::StatusOr<Rate> MeasureSignals(const sim::Profile& profile,
                                    const std::vector<gpu::Device*>& devices, std::uint32_t rounds);

struct Transfer {
  double gbytes_per_s = 0;
  bool correct = false;
};

// `bytes` from the memory of one device to that of another, both registered by dmabuf, put by a
// kernel of the first one, and every byte compared on the second.
absl::StatusOr<Transfer> MeasureTransfer(const sim::Profile& profile, gpu::Device& from,
                                         gpu::Device& to, std::size_t bytes);

}  // namespace drydock::apps::gda_ranks

#endif  // DRYDOCK_APPS_GDA_RANKS_MEASURE_H_
