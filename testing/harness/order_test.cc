#include "drydock/testing/harness/order_test.h"

#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/coro/event_loop.h"
#include "drydock/sim/explore/plan_source.h"
#include "drydock/sim/explore/scenario.h"
#include "drydock/sim/explore/verdict.h"

namespace drydock::harness {
namespace {

using sim::explore::Outcome;
using sim::explore::SeedResult;
using sim::explore::Trial;

// Keeps the state that its last run came to.
class StatefulScenario final : public sim::explore::Scenario {
 public:
  StatefulScenario(const OrderTestBody& body, const char* profile)
      : body_(body), profile_(profile) {}

  std::string_view name() const override { return "test"; }
  std::string_view description() const override { return "the body of a test"; }
  std::string_view profile() const override { return profile_; }

  Outcome Run(Trial& trial) const override {
    coro::EventLoop loop(trial.clock());
    const absl::StatusOr<sim::Digest> state = loop.Run(body_(trial));
    state_ = state.ok() ? std::optional(*state) : std::nullopt;
    return Outcome::Of(state.status());
  }

  const std::optional<sim::Digest>& state() const { return state_; }

 private:
  const OrderTestBody& body_;
  const std::string_view profile_;
  mutable std::optional<sim::Digest> state_;
};

}  // namespace

::testing::AssertionResult HasOneResult(const std::string& test, const OrderTestOptions& options,
                                        const OrderTestBody& body) {
  const StatefulScenario scenario(body, options.profile);
  const sim::explore::PlanSource plans = sim::explore::NoFaults();
  std::optional<SeedResult> failed;
  const std::optional<sim::Finding> finding = sim::CheckOrderIndependence(
      options.first_seed, options.orders, [&](std::uint64_t seed) -> std::optional<sim::Digest> {
        if (failed.has_value()) return std::nullopt;
        const ::testing::ScopedTrace trace(__FILE__, __LINE__, absl::StrCat("seed ", seed));
        const SeedResult result = RunSeed(scenario, seed, plans, options.limit);
        if (IsFailure(result.verdict)) {
          failed = result;
          return std::nullopt;
        }
        return scenario.state();
      });
  if (failed.has_value()) {
    return ::testing::AssertionFailure()
           << test << " fails with seed " << failed->seed << ": "
           << std::string(Name(failed->verdict)) << ": " << failed->text << "\n"
           << failed->waits;
  }
  if (!finding.has_value()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << test << " fails: " << sim::ToText(*finding);
}

}  // namespace drydock::harness
