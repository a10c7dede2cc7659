// A test that runs a coroutine once for every fault at every place: the n-th event that a fault can
// happen to fails, for n = 1, 2, 3, ... until a run ends before, once and from there on.
//
//   DD_SWEEP_TEST(Write, EveryStepMayFail, {}) {
//     CO_ASSIGN_OR_RETURN(auto machines, OpenNodes(trial, coro::EventLoop::Current(), 2));
//     ...
//     co_return absl::OkStatus();
//   }
//
// The body passes and fails as that of a seed test does (seed_test.h). There is one GoogleTest test
// for each fault, Write.EveryStepMayFail/remote_address and .../remote_address_sticky, so that
// shards share them; a failure names the n and the plan.

#ifndef DRYDOCK_TESTING_HARNESS_SWEEP_TEST_H_
#define DRYDOCK_TESTING_HARNESS_SWEEP_TEST_H_

#include <cstdint>
#include <string>

#include "drydock/coro/task.h"
#include "drydock/coro/time.h"
#include "drydock/sim/explore/run_seed.h"
#include "drydock/sim/explore/sweep.h"
#include "drydock/sim/explore/trial.h"
#include "drydock/testing/harness/body_scenario.h"
#include "gtest/gtest.h"

namespace drydock::harness {

struct SweepTestOptions {
  std::uint64_t seed = 1;                              // of every run
  const char* profile = "small";                       // of the machines
  coro::Duration limit = sim::explore::kDefaultLimit;  // of virtual time, for one run
};

// Runs the body with one row of the matrix. The message of a failure names the event and its plan.
// `test`: Suite.Name. REQUIRES: the options' profile exists.
::testing::AssertionResult SurvivesSweep(const std::string& test, const SweepTestOptions& options,
                                         const SeedTestBody& body,
                                         const sim::explore::SweepCase& which);

// Registers the tests of DD_SWEEP_TEST. Before main.
bool RegisterSweepTest(const char* suite, const char* name, const char* file, int line,
                       const SweepTestOptions& options, const SeedTestBody& body);

// The options are those of SweepTestOptions, in braces. A suite has only such tests and seed tests,
// or none.
#define DD_SWEEP_TEST(suite, name, ...)                                                       \
  static ::drydock::coro::Task<::absl::Status> DdSweepTest_##suite##_##name(                  \
      ::drydock::sim::explore::Trial& trial);                                                 \
  [[maybe_unused]] static const bool dd_sweep_##suite##_##name =                              \
      ::drydock::harness::RegisterSweepTest(#suite, #name, __FILE__, __LINE__,                \
                                            ::drydock::harness::SweepTestOptions __VA_ARGS__, \
                                            &DdSweepTest_##suite##_##name);                   \
  static ::drydock::coro::Task<::absl::Status> DdSweepTest_##suite##_##name(                  \
      [[maybe_unused]] ::drydock::sim::explore::Trial& trial)

}  // namespace drydock::harness

#endif  // DRYDOCK_TESTING_HARNESS_SWEEP_TEST_H_
