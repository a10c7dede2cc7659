#include "drydock/sim/explore/sweep.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/sim/explore/plan_source.h"
#include "drydock/sim/explore/traced_run.h"

namespace drydock::sim::explore {
namespace {

using fabric::faults::FaultInfo;
using fabric::faults::FaultPlan;
using fabric::faults::FaultRule;
using fabric::faults::Legality;
using fabric::faults::Point;

bool MakesSomethingFail(const FaultInfo& info) {
  switch (info.point) {
    case Point::kOpenDomain:
    case Point::kOpenAddressVector:
    case Point::kOpenCompletionQueue:
    case Point::kOpenEndpoint:
    case Point::kOpenCounter:
    case Point::kRegisterMemory:
    case Point::kOutcome:
      return true;
    default:
      return info.fault == fabric::faults::Fault::kInsertPeerFails;
  }
}

bool Fired(const SeedResult& result) {
  return !result.rules.empty() && result.rules.front().fired > 0;
}

// With the count of its one rule also where its process has died: the trace has it.
SeedResult Counted(TracedRun run, const FaultPlan& plan) {
  if (run.result.rules.empty()) {
    run.result.rules.push_back({.name = plan.rules.front().name, .fired = run.trace->firing_count});
  }
  return std::move(run.result);
}

}  // namespace

std::vector<SweepCase> SweepCases() {
  const fabric::faults::Appliers appliers = AppliedFaults();
  const fabric::faults::FaultSet applied = appliers.device | appliers.decorator;
  std::vector<SweepCase> cases;
  for (const FaultInfo& info : fabric::faults::Catalogue()) {
    if (info.legality != Legality::kStrict || !MakesSomethingFail(info) ||
        !applied[static_cast<std::size_t>(info.fault)]) {
      continue;
    }
    cases.push_back({info.fault, false});
    cases.push_back({info.fault, true});
  }
  return cases;
}

std::string Name(const SweepCase& which) {
  return absl::StrCat(std::string(fabric::faults::Describe(which.fault).name),
                      which.sticky ? ", sticky" : "");
}

FaultPlan SweepPlan(const SweepCase& which, std::uint64_t n) {
  FaultPlan plan;
  plan.about = absl::StrCat(Name(which), ", from a sweep");
  FaultRule rule = FaultRule::Of(which.fault);
  rule.when.nth = n;
  rule.when.sticky = which.sticky;
  rule.expect_fired.min = 0;
  plan.rules.push_back(std::move(rule));
  return plan;
}

SweepRow SweepOne(const SweepCase& which,
                  const std::function<SeedResult(const FaultPlan& plan)>& run, std::uint64_t most) {
  SweepRow row;
  row.which = which;
  for (std::uint64_t n = 1;; ++n) {
    const SeedResult result = run(SweepPlan(which, n));
    ++row.runs;
    ++row.counts[static_cast<std::size_t>(result.verdict)];
    if (IsFailure(result.verdict) && !row.failing.has_value()) {
      row.failing = n;
      row.failure = result;
    }
    if (!Fired(result)) return row;
    if (n == most) break;
  }
  row.complete = false;
  return row;
}

absl::StatusOr<std::vector<SweepRow>> Sweep(const Scenario& scenario, const SweepOptions& options) {
  std::vector<SweepRow> rows;
  absl::Status error;
  RunSpec spec = options.run;
  spec.firings.reset();
  for (const SweepCase& which : SweepCases()) {
    options.progress(rows.size());
    rows.push_back(SweepOne(
        which,
        [&](const FaultPlan& plan) {
          spec.plan = plan;
          absl::StatusOr<TracedRun> run = RunIsolated(scenario, spec, options.patience);
          if (run.ok()) return Counted(*std::move(run), plan);
          error = run.status();
          return SeedResult();  // ends the row
        },
        options.most));
    RETURN_IF_ERROR(error);
  }
  return rows;
}

}  // namespace drydock::sim::explore
