#include "drydock/sim/explore/schedules.h"

#include <memory>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "drydock/coro/check.h"
#include "drydock/sim/explore/strategy/exhaustive.h"
#include "drydock/sim/explore/strategy/strategy.h"
#include "drydock/sim/explore/strategy/walk.h"

namespace drydock::sim::explore {
namespace {

// A walk that adds up its steps elsewhere.
class CountingWalk final : public Scheduler {
 public:
  CountingWalk(std::uint64_t seed, std::size_t& steps) : walk_(seed), steps_(steps) {}

  std::size_t Pick(std::span<const Step> ready, coro::Duration now) override {
    ++steps_;
    return walk_.Pick(ready, now);
  }

 private:
  WalkScheduler walk_;
  std::size_t& steps_;
};

SeedResult RunOrder(const Scenario& scenario, const OrdersOptions& options, Schedule schedule) {
  PlanSource plans = options.plans;
  plans.strategy.schedule = std::move(schedule);
  return RunSeed(scenario, options.seed, plans, options.limit);
}

// A failure that another run of the same order does not confirm is none of the program's schedule.
SeedResult Confirmed(const Scenario& scenario, const OrdersOptions& options,
                     const std::string& order, SeedResult result) {
  auto strategy = ParseStrategy(order);
  DD_CHECK(strategy.ok(), "an order that a search has printed");
  const SeedResult again = RunOrder(scenario, options, strategy->schedule);
  const bool same = again.verdict == result.verdict && again.digest == result.digest;
  return same ? result : Nondeterministic(result, again);
}

}  // namespace

absl::StatusOr<OrdersReport> ExploreOrders(const Scenario& scenario, const OrdersOptions& options) {
  if (options.max_runs == 0) {
    return absl::InvalidArgumentError("no runs: there is nothing to do");
  }
  OrdersReport report;
  ExhaustiveSearch search({.reduction = options.reduction, .grain = options.grain});
  while (report.runs() < options.max_runs) {
    if (!search.Next()) {
      report.complete = true;
      break;
    }
    SeedResult result =
        RunOrder(scenario, options, [&](std::uint64_t) { return search.NewScheduler(); });
    const std::string order = search.order();
    const bool fails = IsFailure(result.verdict);
    if (search.redundant() && !fails) {
      ++report.redundant;
      options.progress(report.runs());
      continue;
    }
    if (fails) result = Confirmed(scenario, options, order, std::move(result));
    if (search.diverged() && !fails) {
      result.verdict = Verdict::kNondeterministic;
      result.text = "two runs with the same choices differ in what could happen next";
    }
    result.seed = report.runs() + 1;
    report.orders.Add(result);
    if (report.orders.failures.count(result.seed) > 0) report.names[result.seed] = order;
    options.progress(report.runs());
    if (search.diverged()) break;  // nothing that follows would mean anything
  }
  return report;
}

std::size_t CountSteps(const Scenario& scenario, RunSpec run) {
  std::size_t steps = 0;
  run.plan = NoFaults().plan(run.seed);
  run.strategy = {};
  run.strategy.schedule = [&](std::uint64_t number) {
    return std::make_unique<CountingWalk>(number, steps);
  };
  RunOnce(scenario, run);
  return steps;
}

}  // namespace drydock::sim::explore
