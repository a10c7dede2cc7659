// A test that runs a coroutine with many seeds, each in a simulated world of its own and with the
// faults that the seed brings.
//
//   DD_SEED_TEST(AllToAll, SurvivesTheSwarm, {.seeds = 500}) {
//     CO_ASSIGN_OR_RETURN(auto machines, OpenNodes(trial, coro::EventLoop::Current(), 4));
//     ...
//     if (!right) co_return harness::WrongData("block 3 of machine 1");
//     co_return absl::OkStatus();
//   }
//
// The body is a coroutine with an argument `trial` (sim/explore/trial.h), and runs on a loop of
// that world. It passes when it returns OK, or an error after a fault has happened. It fails when
// it returns WrongData, or an error though nothing had happened to it; when it hangs, breaks a rule
// that the simulator checks, or is not a function of its seed; and when an EXPECT in it fails.
//
// The seeds are spread over several GoogleTest tests, AllToAll.SurvivesTheSwarm/0, /1, ...: Bazel's
// `shard_count` spreads those over machines, and each seed is run by exactly one of them. A failure
// names its seed and the command that runs it alone.
//
//   DRYDOCK_SEED=7         this seed alone
//   DRYDOCK_SEEDS=5000     so many, from the first one on, whatever the test's options say
//   DRYDOCK_CAPSULE=FILE   the run that a failing test left in the folder
//                          TEST_UNDECLARED_OUTPUTS_DIR, which Bazel sets and keeps, as
//                          SUITE.NAME-SEED.capsule (sim/explore/capsule.h)
//
// The rule `dd_seed_test` (bazel/defs.bzl) has all of it.

#ifndef DRYDOCK_TESTING_HARNESS_SEED_TEST_H_
#define DRYDOCK_TESTING_HARNESS_SEED_TEST_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "drydock/coro/task.h"
#include "drydock/coro/time.h"
#include "drydock/sim/explore/plan_source.h"
#include "drydock/sim/explore/run_seed.h"
#include "drydock/sim/explore/trial.h"
#include "drydock/testing/harness/body_scenario.h"
#include "gtest/gtest.h"

namespace drydock::harness {

struct SeedTestOptions {
  std::uint64_t seeds = 100;
  std::uint64_t first_seed = 1;
  // sim::explore::Swarm(), NoFaults(), or SamePlan("name", plan).
  sim::explore::PlanSource faults = sim::explore::Swarm();
  const char* profile = "small";                       // of the machines
  coro::Duration limit = sim::explore::kDefaultLimit;  // of virtual time, for one seed
};

// Runs the body with the seeds from `first` to `last`, both included, up to the first that fails.
// The message of a failure names the seed, says what happened, and how to run it alone. `test`:
// Suite.Name. REQUIRES: the options' profile exists, and its plans pass CheckPlan.
::testing::AssertionResult SurvivesSeeds(const std::string& test, const SeedTestOptions& options,
                                         const SeedTestBody& body, std::uint64_t first,
                                         std::uint64_t last);

// Registers the tests of DD_SEED_TEST. Before main.
bool RegisterSeedTest(const char* suite, const char* name, const char* file, int line,
                      const SeedTestOptions& options, const SeedTestBody& body);

// The options are those of SeedTestOptions, in braces. A suite has only such tests, or none.
#define DD_SEED_TEST(suite, name, ...)                                                      \
  static ::drydock::coro::Task<::absl::Status> DdSeedTest_##suite##_##name(                 \
      ::drydock::sim::explore::Trial& trial);                                               \
  [[maybe_unused]] static const bool dd_registered_##suite##_##name =                       \
      ::drydock::harness::RegisterSeedTest(#suite, #name, __FILE__, __LINE__,               \
                                           ::drydock::harness::SeedTestOptions __VA_ARGS__, \
                                           &DdSeedTest_##suite##_##name);                   \
  static ::drydock::coro::Task<::absl::Status> DdSeedTest_##suite##_##name(                 \
      [[maybe_unused]] ::drydock::sim::explore::Trial& trial)

}  // namespace drydock::harness

#endif  // DRYDOCK_TESTING_HARNESS_SEED_TEST_H_
