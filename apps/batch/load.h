// The load of a run, as the flags describe it: memory, NICs, pages and the order of transfers.

#ifndef DRYDOCK_APPS_BATCH_LOAD_H_
#define DRYDOCK_APPS_BATCH_LOAD_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/async/transfer/policy.h"
#include "drydock/sim/profile/profile.h"

namespace drydock::apps::batch {

using Policy = fabric::async::transfer::Policy;

struct Load {
  std::size_t gpus = 1;
  std::size_t nics_per_gpu = 1;
  std::uint64_t page_bytes = 64 << 10;
  std::uint64_t pages = 1000;  // of each NIC, on average
  std::size_t window = 128;    // pages of a NIC under way
  std::size_t burst = 16;      // pages posted with one doorbell
  Policy policy = Policy::kRoundRobin;
  std::size_t threads = 1;  // that drive the NICs
  bool pin = true;          // each thread to the NUMA node of its NICs
  // Of simulated threads: with state of their own; whose posts do not look for completions.
  bool sharded = true;
  bool lazy = true;
  bool warm_up = true;  // connections are made before the clock starts
  coro::Duration timeout = std::chrono::seconds(60);

  std::size_t nics() const { return gpus * nics_per_gpu; }
  std::uint64_t pages_of_gpu() const { return pages * nics_per_gpu; }
  std::uint64_t total_pages() const { return pages * nics(); }
  std::uint64_t total_bytes() const { return total_pages() * page_bytes; }
};

// Pages that a GPU's memory holds at each end: they are moved again and again, page after page into
// its own place. Enough for what is under way, in memory of a modest size.
std::uint64_t PlacesOf(const Load& load);
// Bytes of that memory: the places, and one more that only the warm-up writes to.
std::uint64_t MemoryOf(const Load& load);

// Pages of one transfer (the last may have fewer), and the number of transfers for each GPU.
std::uint32_t PagesOfTransfer(const Load& load);
std::uint32_t TransfersOf(const Load& load);

// Gbit/s of so many bytes in that time; 0 when no time passed.
double Gbps(std::uint64_t bytes, coro::Duration took);

// The NICs of a simulated machine that each of `gpus` GPUs uses: those below its PCIe switch, shared
// out among the GPUs there. GPUs for which none is left are not among them. kInvalidArgument: the
// machine has fewer GPUs with NICs, or fewer NICs for one of them.
absl::StatusOr<std::vector<std::vector<std::size_t>>> NicsOfGpus(const sim::Profile& profile,
                                                                 std::size_t gpus,
                                                                 std::size_t nics_per_gpu);
// How many GPUs have NICs of their own, and how many NICs each; 1 and all where there is no GPU.
std::size_t GpuCount(const sim::Profile& profile);
std::size_t NicsPerGpu(const sim::Profile& profile);

}  // namespace drydock::apps::batch

#endif  // DRYDOCK_APPS_BATCH_LOAD_H_
