// The same things done by asio, the loop that most C++ programs have: its coroutines in the form
// that its users write, on one thread.

#ifndef DRYDOCK_TESTING_BENCHMARKS_ASIO_CASES_H_
#define DRYDOCK_TESTING_BENCHMARKS_ASIO_CASES_H_

#include <vector>

#include "absl/status/status.h"
#include "drydock/testing/benchmarks/paired.h"

namespace drydock::bench {

// Names of the cases that MakeAsioCases returns.
inline constexpr char kAsioTask[] = "asio: create, await and destroy a task";
inline constexpr char kAsioSwitch[] = "asio: switch, 2 coroutines";
inline constexpr char kAsioCompletion[] = "asio: completion to resumed, 64 in flight";
inline constexpr char kAsioDeadline[] = "asio: the same with a timer each";
inline constexpr char kAsioEither[] = "asio: the same, operation || timer";
inline constexpr char kAsioOneLayer[] = "asio: completion through 1 task, 1 in flight";
inline constexpr char kAsioFiveLayers[] = "asio: completion through 5 tasks, 1 in flight";
inline constexpr char kAsioGather[] = "asio: gather of 10000 tasks, one post each";
inline constexpr char kAsioSleeps[] = "asio: 10000 sleeps, arm and fire";
inline constexpr char kAsioEmptyTurn[] = "asio: empty turn of the loop, with one queue";
inline constexpr char kAsioValue[] = "asio: error through 5 tasks, by value";
inline constexpr char kAsioException[] = "asio: error through 5 tasks, by exception";

// May be run in any order, any number of times.
std::vector<Case> MakeAsioCases();

// Fails unless the cases do what their names say: posts alternate, sleeps end in order and never
// early, each operation completes once, one that does not complete ends at its deadline.
absl::Status VerifyAsioCases();

}  // namespace drydock::bench

#endif  // DRYDOCK_TESTING_BENCHMARKS_ASIO_CASES_H_
