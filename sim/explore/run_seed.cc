#include "drydock/sim/explore/run_seed.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "drydock/coro/check.h"
#include "drydock/coro/report.h"
#include "drydock/fabric/coverage/points.h"
#include "drydock/sim/checks/checks.h"
#include "drydock/sim/coverage/matrix.h"
#include "drydock/sim/explore/needs.h"
#include "drydock/sim/profile/profile.h"

namespace drydock::sim::explore {
namespace {

using fabric::faults::FaultEngine;
using fabric::faults::RuleReport;

std::string OneLine(absl::string_view text) { return absl::StrReplaceAll(text, {{"\n", " | "}}); }

std::string Microseconds(coro::Duration time) { return absl::StrCat(time.count() / 1000, " us"); }

// One word for the verdict, the rest for a person.
std::pair<Verdict, std::string> Judge(Trial& trial, const Outcome& outcome,
                                      const fabric::coverage::Report& coverage, bool excused) {
  const RunClock& clock = trial.clock();
  if (clock.stop() == RunClock::Stop::kNothing) {
    return {Verdict::kHang,
            absl::StrCat("nothing is under way after ", Microseconds(clock.since()),
                         ", and the program still waits: ", clock.waits().Summary())};
  }
  if (clock.stop() == RunClock::Stop::kLimit) {
    return {Verdict::kHang, absl::StrCat("the program still waits after ",
                                         Microseconds(trial.world().timeline().elapsed()),
                                         " of virtual time: ", clock.waits().Summary())};
  }
  if (outcome.wrong_data().has_value()) return {Verdict::kWrongData, *outcome.wrong_data()};
  if (!trial.world().findings().empty()) {
    return {Verdict::kFinding, ToText(trial.world().findings().front())};
  }
  if (const auto broken = coverage.broken(); broken.has_value()) {
    return {Verdict::kFinding, *broken};
  }
  if (outcome.status().ok()) return {Verdict::kCorrect, ""};
  return {excused ? Verdict::kCleanError : Verdict::kUnexplainedError,
          std::string(outcome.status().message())};
}

// The name of what a finding is of: a check, or a point of the program that always holds.
std::string RuleThatBroke(const World& world, const fabric::coverage::Report& coverage) {
  if (!world.findings().empty()) return std::string(Name(world.findings().front().check));
  const auto point = coverage.broken_point();
  return point.has_value() ? point->name : "";
}

// With the points of its program counted.
Outcome RunWatched(const Scenario& scenario, Trial& trial, fabric::coverage::Report& coverage) {
  const fabric::coverage::Watch watch(coverage);
  coverage::OutcomeCounts counts;
  trial.world().observers().Add(counts);
  Outcome outcome = scenario.Run(trial);
  trial.world().observers().Remove(counts);
  coverage::AddMatrix(trial.world(), counts, coverage);
  return outcome;
}

std::string Summary(const SeedResult& result) {
  return absl::StrCat(std::string(Name(result.verdict)), ", ", result.events,
                      result.events == 1 ? " event, digest " : " events, digest ",
                      result.digest.ToHex());
}

EndProcess& EndOfProcess() {
  static EndProcess end;
  return end;
}

void CountRules(const Trial& trial, SeedResult& result) {
  for (const RuleReport& rule : trial.engine().Report()) {
    result.rules.push_back({rule.name, rule.eligible, rule.fired});
  }
}

// The program will not return. `result` has what is known so far.
[[noreturn]] void EndLoop(Trial& trial, EndlessLoop loop, const WaitGraph& waits,
                          SeedResult result) {
  CountRules(trial, result);
  result.verdict = Verdict::kHang;
  const std::string when = Microseconds(trial.world().timeline().elapsed());
  const std::string what =
      loop == EndlessLoop::kPolls
          ? absl::StrCat("nothing is under way after ", when, ", and the program polls for ever")
          : absl::StrCat("after ", when,
                         " the program posts to a full send queue for ever, and does not read");
  result.text = OneLine(absl::StrCat(what, ": ", waits.Summary()));
  result.waits = waits.ToText();
  result.digest = trial.world().digest();
  result.events = trial.world().log().count();
  if (EndOfProcess()) EndOfProcess()(result);
  std::cerr << "seed " << result.seed << ": " << std::string(Name(result.verdict)) << ": "
            << result.text << "\n"
            << result.waits;
  std::_Exit(1);
}

bool SameRun(const SeedResult& a, const SeedResult& b) {
  return a.verdict == b.verdict && a.digest == b.digest && a.events == b.events;
}

std::shared_ptr<FaultEngine> EngineOf(const RunSpec& spec) {
  auto engine = FaultEngine::Create(spec.plan, spec.seed, AppliedFaults());
  DD_CHECK(engine.ok(), "the seed's plan was checked");
  return *std::move(engine);
}

// A list of a spec, sorted for look-ups.
template <typename Value>
std::vector<Value> Sorted(const std::optional<std::vector<Value>>& list) {
  std::vector<Value> sorted = list.value_or(std::vector<Value>());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

// Absent: the devices are those of the profile.
std::optional<Profile> TightProfile(const Scenario& scenario, const Profile& profile,
                                    const Parameters& parameters, const RunSpec& spec) {
  const std::optional<Needs> needs = spec.tight ? scenario.needs(parameters) : std::nullopt;
  if (!needs.has_value()) return std::nullopt;
  return WithLittleMore(profile, *needs, spec.seed);
}

// Null: times are drawn.
std::unique_ptr<Scheduler> SchedulerOf(const RunSpec& spec) {
  return spec.strategy.schedule == nullptr ? nullptr : spec.strategy.schedule(spec.seed);
}

class TwiceObserver final : public RunObserver {
 public:
  explicit TwiceObserver(RunTwice& watcher) : watcher_(watcher) {}
  void Begin(World& world, FaultEngine&) override { watcher_.Watch(world); }

 private:
  RunTwice& watcher_;
};

}  // namespace

RunSpec SpecOf(std::uint64_t seed, const PlanSource& plans, coro::Duration limit) {
  RunSpec spec;
  spec.seed = seed;
  spec.plan = plans.plan(seed);
  spec.limit = limit;
  spec.strategy = plans.strategy;
  spec.tight = plans.tight;
  if (plans.figures) spec.figures = plans.figures(seed);
  return spec;
}

EndProcess SetEndProcess(EndProcess end) { return std::exchange(EndOfProcess(), std::move(end)); }

SeedResult RunOnce(const Scenario& scenario, const RunSpec& spec, RunObserver* observer) {
  const std::string_view profile = scenario.profile();
  const auto found = FindProfile({profile.data(), profile.size()});
  DD_CHECK(found.ok(), "the scenario's profile exists");
  const std::vector<fabric::faults::FiringId> firings = Sorted(spec.firings);
  const std::vector<std::uint64_t> disturbed = Sorted(spec.disturbed);
  const std::shared_ptr<FaultEngine> engine = EngineOf(spec);
  if (spec.firings.has_value()) engine->Restrict(firings);
  const std::unique_ptr<Scheduler> scheduler = SchedulerOf(spec);
  const Parameters parameters = AllParameters(scenario.parameters(), spec.parameters);
  std::optional<Profile> figured;
  if (!spec.figures.empty()) figured = WithFigures(**found, spec.figures);
  const Profile& machine = figured.has_value() ? *figured : **found;
  const std::optional<Profile> tight = TightProfile(scenario, machine, parameters, spec);
  Trial trial(spec.seed, tight.has_value() ? *tight : machine, engine, spec.limit, parameters,
              scheduler.get());
  if (spec.heal_after.has_value()) {
    engine->HealAt(trial.world().timeline().backstage(),
                   coro::After(trial.world().Now(), *spec.heal_after));
  }
  if (spec.disturbed.has_value())
    trial.world().wire().UseUndisturbed(Undisturbed::AllBut(disturbed));
  if (observer != nullptr) {
    observer->Begin(trial.world(), *engine);
    trial.set_wrapper([&](std::unique_ptr<fabric::Fabric> fabric) {
      return observer->Wrap(trial.world(), std::move(fabric));
    });
  }
  SeedResult result;
  result.seed = spec.seed;
  trial.world().checks().OnEndlessLoop(
      [&](EndlessLoop loop, const WaitGraph& waits) { EndLoop(trial, loop, waits, result); });
  // A seed that loses completions leaves operations behind on purpose, and thousands of seeds would
  // report them: the verdict says what was wrong.
  const coro::ReportTo nobody([](const std::string&) {});
  const Outcome outcome = RunWatched(scenario, trial, result.coverage);
  trial.world().CheckEnd();
  if (observer != nullptr) observer->End(trial.world(), *engine);
  if (scheduler != nullptr) scheduler->Ended(trial.world().timeline().StepsUnderWay());
  bool fired = scheduler != nullptr && scheduler->explains_errors();
  CountRules(trial, result);
  for (const RuleCount& rule : result.rules) fired |= rule.fired > 0;
  const bool excused = fired && !(spec.heal_after.has_value() && scenario.retries());
  auto [verdict, text] = Judge(trial, outcome, result.coverage, excused);
  if (verdict == Verdict::kUnexplainedError && fired) {
    absl::StrAppend(&text, ", although no fault began after ", Microseconds(*spec.heal_after),
                    " and the program tries again");
  }
  result.verdict = verdict;
  result.text = OneLine(text);
  if (verdict == Verdict::kHang) result.waits = trial.clock().waits().ToText();
  if (verdict == Verdict::kFinding) result.check = RuleThatBroke(trial.world(), result.coverage);
  result.digest = trial.world().digest();
  result.events = trial.world().log().count();
  return result;
}

SeedResult RunSeed(const Scenario& scenario, std::uint64_t seed, const PlanSource& plans,
                   coro::Duration limit, RunTwice* watcher) {
  const RunSpec spec = SpecOf(seed, plans, limit);
  if (watcher == nullptr) return RunOnce(scenario, spec);
  TwiceObserver observer(*watcher);
  return RunOnce(scenario, spec, &observer);
}

SeedResult Nondeterministic(const SeedResult& first, const SeedResult& second) {
  SeedResult result = first;
  result.verdict = Verdict::kNondeterministic;
  result.text = absl::StrCat("two runs differ: ", Summary(first), "; ", Summary(second));
  return result;
}

SeedResult RunSeedChecked(const Scenario& scenario, std::uint64_t seed, const PlanSource& plans,
                          bool twice, coro::Duration limit) {
  return RunChecked(scenario, SpecOf(seed, plans, limit), twice);
}

SeedResult RunChecked(const Scenario& scenario, const RunSpec& spec, bool twice) {
  RunTwice watcher;
  TwiceObserver observer(watcher);
  RunObserver* const observing = twice ? &observer : nullptr;
  SeedResult first = RunOnce(scenario, spec, observing);
  if (!twice && !IsFailure(first.verdict)) return first;
  const SeedResult second = RunOnce(scenario, spec, observing);
  if (SameRun(first, second)) return first;
  SeedResult result = Nondeterministic(first, second);
  if (twice && watcher.difference().has_value()) {
    absl::StrAppend(&result.text, "; ", OneLine(*watcher.difference()));
  }
  return result;
}

}  // namespace drydock::sim::explore
