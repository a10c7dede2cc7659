// The body of a test as a scenario; for seed_test.h and sweep_test.h.

#ifndef DRYDOCK_TESTING_HARNESS_BODY_SCENARIO_H_
#define DRYDOCK_TESTING_HARNESS_BODY_SCENARIO_H_

#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "drydock/coro/task.h"
#include "drydock/sim/explore/scenario.h"
#include "drydock/sim/explore/trial.h"

namespace drydock::harness {

using SeedTestBody = std::function<coro::Task<absl::Status>(sim::explore::Trial& trial)>;

// What a body returns when it was about to use data that is wrong. `what`: one line.
absl::Status WrongData(std::string_view what);

// Runs the body on a loop of the trial's world. The body and both names outlive it.
class BodyScenario final : public sim::explore::Scenario {
 public:
  BodyScenario(const SeedTestBody& body, const char* profile, std::string_view name = "test")
      : body_(body), profile_(profile), name_(name) {}

  std::string_view name() const override { return name_; }
  std::string_view description() const override { return "the body of a test"; }
  std::string_view profile() const override { return profile_; }
  sim::explore::Outcome Run(sim::explore::Trial& trial) const override;

 private:
  const SeedTestBody& body_;
  const std::string_view profile_;
  const std::string_view name_;
};

// How many expectations of the running test have failed.
int FailedParts();

// Registers a GoogleTest test with this body. Before main.
void RegisterTest(const char* suite, const std::string& name, const char* file, int line,
                  std::function<void()> run);

}  // namespace drydock::harness

#endif  // DRYDOCK_TESTING_HARNESS_BODY_SCENARIO_H_
