#include "apps/explore/write_scenario.h"

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "apps/write/messages.h"
#include "apps/write/simulated_run.h"
#include "apps/write/verification.h"

namespace apps {
namespace {

using sim::explore::Outcome;
using sim::explore::Trial;
using write::CompletionMode;

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kPagesPerRegion = 8;
constexpr std::size_t kScenarioRegionBytes = 2 * kPagesPerRegion * kPageBytes;
constexpr coro::Duration kTimeout = std::chrono::seconds(1);

write::SimulatedRunOptions OptionsFor(Trial& trial, CompletionMode completion) {
  write::SimulatedRunOptions options;
  options.client.region_bytes = options.server.region_bytes = kScenarioRegionBytes;
  options.client.page_bytes = kPageBytes;
  options.client.page_count = kPagesPerRegion;
  options.client.completion = completion;
  options.client.data_seed = trial.seed();
  options.client.silence_timeout = options.server.write_timeout = kTimeout;
  options.decorate = [&trial](std::unique_ptr<fabric::Fabric> fabric, sim::World&) {
    return trial.Decorate(std::move(fabric));
  };
  return options;
}

class Scenario final : public sim::explore::Scenario {
 public:
  Scenario(std::string_view name, std::string_view description, CompletionMode completion)
      : name_(name), description_(description), completion_(completion) {}

  std::string_view name() const override { return name_; }
  std::string_view description() const override { return description_; }

  Outcome Run(Trial& trial) const override {
    const absl::StatusOr<write::SimulatedRun> run =
        RunSimulatedIn(trial.world(), trial.clock(), OptionsFor(trial, completion_));
    if (!run.ok()) return Outcome::Of(run.status());
    const write::Verification& verification = run->transfer.verification;
    return verification.correct() ? Outcome::Of(absl::OkStatus())
                                  : Outcome::WrongData(Describe(verification));
  }

 private:
  const std::string_view name_;
  const std::string_view description_;
  const CompletionMode completion_;
};

}  // namespace

const sim::explore::Scenario& WriteScenario() {
  static const Scenario scenario("write", "a server writes 16 pages; the client counts them",
                                 CompletionMode::kCount);
  return scenario;
}

const sim::explore::Scenario& WriteLastScenario() {
  static const Scenario scenario("write-last",
                                 "the same, but the client trusts the last write: wrong on EFA",
                                 CompletionMode::kLast);
  return scenario;
}

}  // namespace apps
