// What an exploration came to, for a person and for a script. Pure functions.

#ifndef DRYDOCK_APPS_EXPLORE_REPORT_H_
#define DRYDOCK_APPS_EXPLORE_REPORT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "drydock/apps/explore/coverage_tables.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/faults/plan.h"
#include "drydock/sim/explore/explorer.h"
#include "drydock/sim/explore/scenario.h"
#include "drydock/sim/explore/schedules.h"
#include "drydock/sim/explore/verdict.h"

namespace drydock::apps {

// The request, for headings and replay commands.
struct Asked {
  std::string scenario;
  std::string faults;  // swarm, none, or a file
  std::string strategy = "random";
  CoverageDetail coverage = CoverageDetail::kSeen;
  // Other flags that decide a run, as they are written: "--parameters=pages=2".
  std::string flags = {};
  std::string other_flags = {};                        // those of them that are not about figures
  std::map<std::uint64_t, std::string> capsules = {};  // path by seed, or by run of an order
  // A seed does not say its faults, as with --corpus: its capsule runs it again.
  bool by_capsule = false;
};

// The command that runs one seed again. One line.
std::string ReplayCommand(const Asked& asked, std::uint64_t seed);
// The command that runs a capsule.
std::string ReplayCapsuleCommand(const std::string& path);

// Tables of verdicts and rules, a paragraph for each of the first failures, and the speed. Without
// a time: what is the same however the seeds were run.
std::string FormatReport(const Asked& asked, const sim::explore::ExploreReport& report,
                         std::optional<coro::Duration> elapsed);

// The same of all orders of one seed.
std::string FormatOrders(const Asked& asked, std::uint64_t seed,
                         const sim::explore::OrdersReport& report, coro::Duration elapsed);
std::string OrdersJson(const Asked& asked, std::uint64_t seed,
                       const sim::explore::OrdersReport& report, coro::Duration elapsed);

// A report of seeds as one JSON object, on one line; without a time it has no "seconds".
std::string ReportJson(const Asked& asked, const sim::explore::ExploreReport& report,
                       std::optional<coro::Duration> elapsed);

// One seed: its plan, its rules, its verdict.
std::string FormatSeed(const Asked& asked, const fabric::faults::FaultPlan& plan,
                       const sim::explore::SeedResult& result);
std::string SeedJson(const Asked& asked, const fabric::faults::FaultPlan& plan,
                     const sim::explore::SeedResult& result);

// A line for each verdict: verdict, runs, first (seed, or run of an order).
std::string VerdictsCsv(const sim::explore::ExploreReport& report);
// One line: seed, verdict, text, events, digest.
std::string SeedCsv(const sim::explore::SeedResult& result);
std::string ScenariosCsv(const std::vector<const sim::explore::Scenario*>& scenarios);

// The scenarios, a line each.
std::string FormatScenarios(const std::vector<const sim::explore::Scenario*>& scenarios);
std::string ScenariosJson(const std::vector<const sim::explore::Scenario*>& scenarios);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_EXPLORE_REPORT_H_
