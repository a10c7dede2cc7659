// A program of seed tests, which seed_test_test.cc runs in several ways. It prints each seed.

#include <iostream>

#include "absl/status/status.h"
#include "drydock/coro/sleep.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/wait_list.h"
#include "drydock/testing/harness/seed_test.h"

namespace {

DD_SEED_TEST(Sweep, IsFine, {.seeds = 130, .first_seed = 1000}) {
  std::cout << "ran " << trial.seed() << "\n";
  co_return absl::OkStatus();
}

DD_SEED_TEST(Broken, WrongData, {.seeds = 100, .faults = drydock::sim::explore::NoFaults()}) {
  co_await drydock::coro::Yield();
  if (trial.seed() == 42 || trial.seed() == 44) co_return drydock::harness::WrongData("page 3");
  co_return absl::OkStatus();
}

DD_SEED_TEST(Broken, Hang, {.seeds = 30}) {
  drydock::coro::WaitList nobody;
  if (trial.seed() == 30) co_await nobody.Wait();
  co_return absl::OkStatus();
}

DD_SEED_TEST(Broken, Error, {.seeds = 10, .faults = drydock::sim::explore::NoFaults()}) {
  if (trial.seed() == 7) co_return absl::InternalError("for no reason");
  co_return absl::OkStatus();
}

DD_SEED_TEST(Broken, Expectation, {.seeds = 10}) {
  EXPECT_LT(trial.seed(), 9u);
  co_return absl::OkStatus();
}

// Reads its queue until something comes; nothing does.
DD_SEED_TEST(Broken, PollsForEver, {.seeds = 5, .faults = drydock::sim::explore::NoFaults()}) {
  CO_ASSIGN_OR_RETURN(const auto fabric, trial.OpenMachine("a"));
  CO_ASSIGN_OR_RETURN(const auto domain, fabric->OpenDomain(0));
  CO_ASSIGN_OR_RETURN(const auto queue, domain->OpenCompletionQueue({}));
  drydock::fabric::Completion completion;
  while (trial.seed() == 3 && queue->Read({&completion, 1}).count == 0) {
  }
  co_return absl::OkStatus();
}

}  // namespace
