// What the loop, its tasks and the operations on top of them are measured doing.

#ifndef DRYDOCK_TESTING_BENCHMARKS_CORO_CASES_H_
#define DRYDOCK_TESTING_BENCHMARKS_CORO_CASES_H_

#include <vector>

#include "absl/status/status.h"
#include "drydock/testing/benchmarks/paired.h"

namespace drydock::bench {

// Names of the cases that MakeCoroCases returns.
inline constexpr char kTask[] = "create, await and destroy a task";
inline constexpr char kSwitchVirtual[] = "switch, 2 coroutines, virtual clock";
inline constexpr char kSwitchSteady[] = "switch, 2 coroutines, steady clock";
inline constexpr char kWake[] = "wake by an event, 2 coroutines";
inline constexpr char kCompletion[] = "completion to resumed, 64 in flight";
inline constexpr char kDeadline[] = "the same with a deadline each";
inline constexpr char kOneCall[] = "completion through 1 call, 1 in flight";
inline constexpr char kFiveCalls[] = "completion through 5 calls, 1 in flight";
inline constexpr char kOneTask[] = "completion through 1 task, 1 in flight";
inline constexpr char kFiveTasks[] = "completion through 5 tasks, 1 in flight";
inline constexpr char kFabric[] = "through all of fabric/async, 64 in flight";
inline constexpr char kFabricDeadline[] = "through all of it, with a deadline each";
inline constexpr char kGather[] = "gather of 10000 tasks, one yield each";
inline constexpr char kSleeps[] = "10000 sleeps, arm and fire";
inline constexpr char kEmptyTurn[] = "empty turn of the loop, with one queue";
inline constexpr char kEmptyPoll[] = "empty poll of that queue alone";
inline constexpr char kError[] = "error through 5 tasks, by value";

// May be run in any order, any number of times.
std::vector<Case> MakeCoroCases();

// Fails unless the cases do what their names say: yields alternate, sleeps end in order and never
// early, an error arrives as it was sent.
absl::Status VerifyCoroCases();

}  // namespace drydock::bench

#endif  // DRYDOCK_TESTING_BENCHMARKS_CORO_CASES_H_
