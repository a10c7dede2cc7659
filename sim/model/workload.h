// A workload: the properties of a program that its speed depends on.

#ifndef DRYDOCK_SIM_MODEL_WORKLOAD_H_
#define DRYDOCK_SIM_MODEL_WORKLOAD_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "drydock/fabric/async/transfer/policy.h"
#include "drydock/sim/profile/profile.h"

namespace drydock::sim::model {

using fabric::async::transfer::Policy;  // which NICs carry which bytes

enum class Pattern : std::uint8_t {
  kPaged,    // pages under way up to the window, which is kept full
  kDrained,  // a window of pages is posted and all are awaited, then the next: fi_rma_bw
  kSingle,   // a GPU's pages one at a time: each is awaited before the next
};

enum class Direction : std::uint8_t { kWrite, kRead };

// Between which NICs.
enum class Route : std::uint8_t {
  kAligned,   // of the same rail (RailOf), on two machines
  kCrossing,  // of different rails
  kLoopback,  // from a NIC to itself
};

// Where the bytes are at both ends.
enum class Memory : std::uint8_t {
  kGpu,   // a GPU's that shares the NIC's PCIe switch
  kHost,  // the host's, on the NIC's NUMA node
  kFar,   // the host's, on another one
};

// One machine that writes to another one or reads from it, both of the same kind. A value.
struct Workload {
  std::size_t nics = 1;     // that a program uses; as many for each GPU ...
  std::size_t gpus = 1;     // ... of which there are so many: each has nics / gpus
  std::size_t threads = 1;  // that drive them, each an equal share
  bool pinned = true;       // threads to the NUMA node of their NICs ...
  bool far = false;         // ... or to another one: where they are pinned
  bool sharded = true;      // each thread has state of its own
  std::size_t burst = 16;   // requests that a post call takes, where there are so many
  bool lazy = true;         // posts do not look for completions
  std::size_t pollers = 0;  // threads beside those, which share the reading of all completions; 0:
                            // each thread reads those of its own NICs
  bool bare = false;        // a loop that does nothing but post and read: a benchmark tool
  std::uint64_t page_bytes = 64 << 10;
  std::size_t window = 64;  // requests of a NIC under way
  Policy policy = Policy::kRoundRobin;
  Pattern pattern = Pattern::kPaged;
  Direction direction = Direction::kWrite;
  Route route = Route::kAligned;
  Memory memory = Memory::kGpu;
  std::size_t peers = 1;         // machines at the other end
  std::size_t receivers = 0;     // NICs at the other end, of each peer; 0: as many as `nics`
  std::uint64_t operations = 0;  // pages of all GPUs together; 0: it goes on for ever
  bool warm = true;              // every NIC has been in contact with its peers before
};

// Requests of a NIC that are under way together: as many as the pattern and the NIC's send queue
// allow of the window.
std::size_t WindowOf(const Profile& profile, const Workload& load);
// Requests of a post call, where so many are free to go.
std::size_t BurstOf(const Profile& profile, const Workload& load);
// The NICs, of the workload's first `nics` of the machine, that carry something under its policy and
// pattern, in their order: of each GPU those that lie first at its place. REQUIRES: Check
// (predictor.h) accepts the workload.
std::vector<std::size_t> ActiveNics(const Profile& profile, const Workload& load);

}  // namespace drydock::sim::model

#endif  // DRYDOCK_SIM_MODEL_WORKLOAD_H_
