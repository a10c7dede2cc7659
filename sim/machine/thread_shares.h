// Which NICs each of some CPU threads drives: an equal part of their list each, in its order.
//
//   NICs      0  1  2  3  4  5  6  7
//   threads   0...  1......  2......      8 NICs of 3 threads: 2, 3 and 3
//
// The simulator deals out NICs so (processors.h), and the model reckons with it (sim/model).

#ifndef DRYDOCK_SIM_MACHINE_THREAD_SHARES_H_
#define DRYDOCK_SIM_MACHINE_THREAD_SHARES_H_

#include <cstddef>
#include <cstdint>

namespace drydock::sim {

// Where threads are pinned.
enum class ThreadPlace : std::uint8_t {
  kNear,     // on the NUMA node of the first of their NICs; where that is not known, on the first
  kFar,      // on the other one
  kNowhere,  // they wander over all nodes
};

// Positions in a list: `begin` up to and without `end`.
struct ThreadShare {
  std::size_t begin;
  std::size_t end;
};

// Of a list of `nics`. Empty for some threads where there are more of them than NICs.
// REQUIRES: thread < threads.
constexpr ThreadShare ShareOf(std::size_t thread, std::size_t threads, std::size_t nics) {
  return {thread * nics / threads, (thread + 1) * nics / threads};
}

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_MACHINE_THREAD_SHARES_H_
