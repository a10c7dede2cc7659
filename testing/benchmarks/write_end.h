// One endpoint with its completion queue, that writes to a peer and is written to: what the loops
// of one thread (write_loop.h) and of two (two_threads.h) drive.

#ifndef DRYDOCK_TESTING_BENCHMARKS_WRITE_END_H_
#define DRYDOCK_TESTING_BENCHMARKS_WRITE_END_H_

#include <cstddef>

#include "drydock/testing/benchmarks/write_loop.h"

namespace drydock::bench {

// Writes with immediate, of the same size and one behind another: slot i of both ends' memory is
// the range that begins at offset_bytes + i * bytes.
struct Burst {
  std::size_t offset_bytes = 0;
  std::size_t bytes = 0;
  std::size_t first = 0;  // slot
  std::size_t count = 1;
};

// What an End can do at most.
inline constexpr std::size_t kMostSlots = 64;    // slots that have names, from 0
inline constexpr std::size_t kMostInBurst = 16;  // writes

// What a post of a burst came to. Fewer than asked for, and not failed: the queue is full.
struct BurstOutcome {
  std::size_t posted = 0;
  bool failed = false;
};

// An End has, all of them inlined where they are called:
//   BurstOutcome Post(const Burst& burst);   each slot as its context and immediate
//   bool Poll(Found& sent, Found& arrived);  adds writes of this end, which their contexts name,
//                                            and of its peer, which their immediates name; false:
//                                            one failed, or is of another kind
//   absl::Status error();                    why something failed

}  // namespace drydock::bench

#endif  // DRYDOCK_TESTING_BENCHMARKS_WRITE_END_H_
