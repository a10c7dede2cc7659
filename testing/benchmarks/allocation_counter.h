// Counts what a program takes from the heap: linking this replaces the global operator new.

#ifndef DRYDOCK_TESTING_BENCHMARKS_ALLOCATION_COUNTER_H_
#define DRYDOCK_TESTING_BENCHMARKS_ALLOCATION_COUNTER_H_

#include <cstdint>

namespace drydock::bench {

struct Allocations {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
};

// Since the start of the program, by operator new; over-aligned allocations and malloc itself are
// not seen. For programs of one thread.
Allocations AllocationsSoFar();

}  // namespace drydock::bench

#endif  // DRYDOCK_TESTING_BENCHMARKS_ALLOCATION_COUNTER_H_
