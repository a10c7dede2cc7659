// A test that a coroutine comes to the same state whatever the order in which things arrive.
//
//   DD_ORDER_TEST(AllToAll, SumDoesNotDependOnOrder, {.orders = 40}) {
//     CO_ASSIGN_OR_RETURN(auto machines, OpenNodes(trial, coro::EventLoop::Current(), 4));
//     ...
//     sim::StateHash state;
//     state.Add(result->bytes());
//     co_return state.digest();
//   }
//
// The body runs once with each order, in a world of its own in which nothing goes wrong: another
// seed, another order of everything that the network leaves open. It says what its state is, and
// takes no data from the seed. The test fails when two states differ, naming the first two seeds;
// and when a body returns an error, hangs or breaks a rule that the simulator checks.

#ifndef DRYDOCK_TESTING_HARNESS_ORDER_TEST_H_
#define DRYDOCK_TESTING_HARNESS_ORDER_TEST_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "drydock/coro/task.h"
#include "drydock/coro/time.h"
#include "drydock/sim/checks/order_independence.h"
#include "drydock/sim/explore/run_seed.h"
#include "drydock/sim/explore/trial.h"
#include "gtest/gtest.h"

namespace drydock::harness {

struct OrderTestOptions {
  std::uint64_t orders = 20;
  std::uint64_t first_seed = 1;
  const char* profile = "small";                       // of the machines
  coro::Duration limit = sim::explore::kDefaultLimit;  // of virtual time, for one order
};

using OrderTestBody =
    std::function<coro::Task<absl::StatusOr<sim::Digest>>(sim::explore::Trial& trial)>;

// Runs the body with every order, up to the first that fails or differs. `test`: Suite.Name.
// REQUIRES: the options' profile exists, and there is at least one order.
::testing::AssertionResult HasOneResult(const std::string& test, const OrderTestOptions& options,
                                        const OrderTestBody& body);

// The options are those of OrderTestOptions, in braces.
#define DD_ORDER_TEST(suite, name, ...)                                                            \
  static ::drydock::coro::Task<::absl::StatusOr<::drydock::sim::Digest>>                           \
      DdOrderTest_##suite##_##name(::drydock::sim::explore::Trial& trial);                         \
  TEST(suite, name) {                                                                              \
    EXPECT_TRUE(::drydock::harness::HasOneResult(#suite "." #name,                                 \
                                                 ::drydock::harness::OrderTestOptions __VA_ARGS__, \
                                                 &DdOrderTest_##suite##_##name));                  \
  }                                                                                                \
  static ::drydock::coro::Task<::absl::StatusOr<::drydock::sim::Digest>>                           \
      DdOrderTest_##suite##_##name([[maybe_unused]] ::drydock::sim::explore::Trial& trial)

}  // namespace drydock::harness

#endif  // DRYDOCK_TESTING_HARNESS_ORDER_TEST_H_
