// A feature's check under fault plans: the same body under several, each with many seeds.
//
//   coro::Task<absl::Status> Work(sim::explore::Trial& trial) {
//     CO_ASSIGN_OR_RETURN(auto machines,
//                         harness::OpenNodes(trial, coro::EventLoop::Current(), 2));
//     ...
//   }
//   DD_TEST_UNDER_FAULTS(BufferPoolUnderFaults, Work);
//
// The body passes and fails as that of a seed test does (seed_test.h): it comes to
// the right result or to one clean error, does not hang, and leaves nothing behind. Everything in
// it has a deadline: completions get lost.

#ifndef DRYDOCK_TESTING_HARNESS_UNDER_FAULTS_H_
#define DRYDOCK_TESTING_HARNESS_UNDER_FAULTS_H_

#include <chrono>
#include <cstdint>

#include "absl/status/status.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/task.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/faults/plan.h"
#include "drydock/sim/explore/nodes.h"
#include "drydock/sim/explore/plan_source.h"
#include "drydock/sim/explore/trial.h"
#include "drydock/testing/harness/seed_test.h"
#include "gtest/gtest.h"

namespace drydock::harness {

using fabric::async::Node;
using sim::explore::OpenNodes;

// When a step that begins now is given up: far later than it takes, and far earlier than a seed
// test calls it a hang. REQUIRES: a running loop.
inline coro::Time GiveUpTime() {
  return coro::After(coro::EventLoop::Current().Now(), std::chrono::milliseconds(200));
}

// A rule that fires on each `every`-th event.
inline fabric::faults::FaultRule Every(fabric::faults::Fault fault, std::uint64_t every) {
  fabric::faults::FaultRule rule = fabric::faults::FaultRule::Of(fault);
  rule.when.every = every;
  rule.expect_fired.min = 0;  // RunUnderFaults asks for one of all
  return rule;
}

// Completions that never come, of operations that are done.
inline fabric::faults::FaultPlan LostCompletions(std::uint64_t seed) {
  fabric::faults::FaultPlan plan{.mode = fabric::faults::Legality::kIllegal};
  plan.rules.push_back(Every(fabric::faults::Fault::kLostCompletion, 4 + seed % 5));
  plan.rules.back().illegal = true;
  return plan;
}

// Completions that come late, and in another order.
inline fabric::faults::FaultPlan LateCompletions(std::uint64_t seed) {
  fabric::faults::FaultPlan plan;
  plan.rules.push_back(Every(fabric::faults::Fault::kHeldCompletion, 2 + seed % 3));
  plan.rules.push_back(Every(fabric::faults::Fault::kDelayedCompletion, 3 + seed % 4));
  return plan;
}

// Operations and packets that others overtake.
inline fabric::faults::FaultPlan Reordering(std::uint64_t seed) {
  fabric::faults::FaultPlan plan;
  plan.rules.push_back(Every(fabric::faults::Fault::kReorderedOperations, 2 + seed % 3));
  plan.rules.push_back(Every(fabric::faults::Fault::kPacketLoss, 3 + seed % 4));
  return plan;
}

// Messages that find no receive, and now and then a peer that ends the exchange.
inline fabric::faults::FaultPlan FailingOperations(std::uint64_t seed) {
  fabric::faults::FaultPlan plan;
  plan.rules.push_back(Every(fabric::faults::Fault::kReceiverNotReady, 2 + seed % 3));
  plan.rules.push_back(Every(fabric::faults::Fault::kRemoteAbort, 7 + seed % 5));
  return plan;
}

// From some moment on, no peer can be reached.
inline fabric::faults::FaultPlan DroppedPeers(std::uint64_t seed) {
  fabric::faults::FaultPlan plan;
  plan.rules.push_back(Every(fabric::faults::Fault::kDroppedPeer, 1));
  plan.rules.back().when.window =
      fabric::faults::Window{.from = std::chrono::microseconds(5 * (seed % 8))};
  return plan;
}

// What a body has to come to.
enum class Ending { kRight, kRightOrCleanError };

// Runs the body, and fails the test where nothing has happened to it.
inline coro::Task<absl::Status> RunUnderFaults(sim::explore::Trial& trial, Ending ending,
                                               coro::Task<absl::Status> body) {
  const absl::Status status = co_await std::move(body);
  std::uint64_t fired = 0;
  for (const fabric::faults::RuleReport& rule : trial.engine().Report()) fired += rule.fired;
  EXPECT_GT(fired, 0u) << "a plan that does nothing shows nothing";
  if (ending == Ending::kRight) {
    EXPECT_EQ(status, absl::OkStatus()) << "nothing has failed";
  }
  co_return status;
}

#define DD_TEST_UNDER_FAULTS_(suite, name, body, ending)                                  \
  DD_SEED_TEST(suite, name, {.seeds = 8, .faults = {#name, &::drydock::harness::name}}) { \
    return ::drydock::harness::RunUnderFaults(trial, ::drydock::harness::Ending::ending,  \
                                              body(trial));                               \
  }

// Also under the plans of the swarm, in which anything may happen, and nothing; and under none.
#define DD_TEST_UNDER_FAULTS(suite, body)                                                      \
  DD_SEED_TEST(suite, NoFaults, {.seeds = 3, .faults = ::drydock::sim::explore::NoFaults()}) { \
    return body(trial);                                                                        \
  }                                                                                            \
  DD_SEED_TEST(suite, Swarm, {.seeds = 25}) { return body(trial); }                            \
  DD_TEST_UNDER_FAULTS_(suite, LateCompletions, body, kRight)                                  \
  DD_TEST_UNDER_FAULTS_(suite, Reordering, body, kRight)                                       \
  DD_TEST_UNDER_FAULTS_(suite, LostCompletions, body, kRightOrCleanError)                      \
  DD_TEST_UNDER_FAULTS_(suite, FailingOperations, body, kRightOrCleanError)                    \
  DD_TEST_UNDER_FAULTS_(suite, DroppedPeers, body, kRightOrCleanError)                         \
  static_assert(true)

}  // namespace drydock::harness

#endif  // DRYDOCK_TESTING_HARNESS_UNDER_FAULTS_H_
