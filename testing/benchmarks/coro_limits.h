// What bare C++ coroutines cost with no library around them: the limits that the loop's own costs
// are divided by.

#ifndef DRYDOCK_TESTING_BENCHMARKS_CORO_LIMITS_H_
#define DRYDOCK_TESTING_BENCHMARKS_CORO_LIMITS_H_

#include <cstddef>
#include <vector>

#include "drydock/testing/benchmarks/paired.h"

namespace drydock::bench {

inline constexpr std::size_t kOperationsInFlight = 64;
inline constexpr std::size_t kManyTasks = 10000;

// Names of the cases that MakeLimits returns.
inline constexpr char kLimitR[] = "R";  // handle.resume() of a coroutine that suspends again
inline constexpr char kLimitM[] = "M";  // create, resume, destroy a coroutine that ends at once
inline constexpr char kLimitP[] = "P";  // post, poll a ring, resume: 64 coroutines, per completion
inline constexpr char kLimitQ[] = "Q";  // std::priority_queue: push and pop of 10000, per element

// May be run in any order, any number of times.
std::vector<Case> MakeLimits();

}  // namespace drydock::bench

#endif  // DRYDOCK_TESTING_BENCHMARKS_CORO_LIMITS_H_
