#include "drydock/apps/explore/report.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "drydock/apps/common/program_command.h"
#include "drydock/apps/common/report/result_table.h"
#include "drydock/apps/common/text_table.h"
#include "drydock/apps/common/units.h"
#include "drydock/fabric/coverage/report_json.h"
#include "drydock/fabric/faults/plan_json.h"
#include "nlohmann/json.hpp"

namespace drydock::apps {
namespace {

using nlohmann::json;
using sim::explore::ExploreReport;
using sim::explore::kVerdictCount;
using sim::explore::Scenario;
using sim::explore::SeedResult;
using sim::explore::Verdict;

using Rows = std::vector<std::vector<std::string>>;

std::string Text(std::string_view text) { return std::string(text); }

double Seconds(coro::Duration elapsed) { return std::chrono::duration<double>(elapsed).count(); }

double PerSecond(std::uint64_t count, coro::Duration elapsed) {
  return static_cast<double>(count) / std::max(Seconds(elapsed), 1e-9);
}

std::string VerdictTable(const ExploreReport& report) {
  Rows rows = {{"verdict", "seeds", "first seed"}};
  for (std::size_t i = 0; i < kVerdictCount; ++i) {
    const auto verdict = static_cast<Verdict>(i);
    const auto first = report.first.find(verdict);
    if (first == report.first.end()) continue;
    rows.push_back({Text(Name(verdict)), absl::StrCat(report.count(verdict)),
                    absl::StrCat(first->second.seed)});
  }
  return FormatTable(rows);
}

std::string RuleTable(const ExploreReport& report) {
  Rows rows = {{"rule", "seeds", "fired in", "eligible", "fired"}};
  for (const auto& [name, total] : report.rules) {
    rows.push_back({name, absl::StrCat(total.seeds), absl::StrCat(total.fired_seeds),
                    absl::StrCat(total.eligible), absl::StrCat(total.fired)});
  }
  return FormatTable(rows);
}

json ToJson(const Asked& asked, const SeedResult& result) {
  json object = {{"seed", result.seed},     {"verdict", Text(Name(result.verdict))},
                 {"text", result.text},     {"digest", result.digest.ToHex()},
                 {"events", result.events}, {"replay", ReplayCommand(asked, result.seed)}};
  const auto capsule = asked.capsules.find(result.seed);
  if (capsule != asked.capsules.end()) object["capsule"] = capsule->second;
  return object;
}

// What a program says of a file's bytes may not be UTF-8.
std::string Dump(const json& object) {
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

// Empty if the failure has no capsule.
std::string CapsuleLine(const Asked& asked, std::uint64_t number) {
  const auto capsule = asked.capsules.find(number);
  if (capsule == asked.capsules.end()) return "";
  return absl::StrCat("  capsule: ", capsule->second, "\n");
}

}  // namespace

std::string ReplayCapsuleCommand(const std::string& path) {
  return ProgramCommand("explore", AsShellWords({absl::StrCat("--replay=", path)}));
}

std::string ReplayCommand(const Asked& asked, std::uint64_t seed) {
  if (asked.by_capsule) {
    const auto capsule = asked.capsules.find(seed);
    return ReplayCapsuleCommand(capsule == asked.capsules.end() ? "CAPSULE" : capsule->second);
  }
  return ProgramCommand(
      "explore", absl::StrCat("--scenario=", asked.scenario, " ",
                              AsShellWords({absl::StrCat("--faults=", asked.faults)}),
                              asked.strategy == "random" ? "" : " --strategy=" + asked.strategy,
                              asked.flags.empty() ? "" : " ", asked.flags, " --seed=", seed));
}

std::string FormatReport(const Asked& asked, const ExploreReport& report,
                         std::optional<coro::Duration> elapsed) {
  std::string text = VerdictTable(report);
  if (!report.rules.empty()) absl::StrAppend(&text, "\n", RuleTable(report));
  absl::StrAppend(&text, FormatCoverage(report.coverage, asked.coverage));
  for (const auto& [seed, result] : report.failures) {
    absl::StrAppend(&text, "\nseed ", seed, ": ", Text(Name(result.verdict)), ": ", result.text,
                    "\n  ", ReplayCommand(asked, seed), "\n", CapsuleLine(asked, seed));
  }
  if (report.failed() > report.failures.size()) {
    absl::StrAppend(&text, "\n(and ", report.failed() - report.failures.size(),
                    " more that failed)\n");
  }
  const std::string speed = elapsed.has_value()
                                ? absl::StrFormat(" in %.3g s, %.0f seeds/s", Seconds(*elapsed),
                                                  PerSecond(report.seeds, *elapsed))
                                : "";
  absl::StrAppend(&text, "\n", FormatCount(report.seeds, "seed"), speed, ", ",
                  FormatCount(report.events, "event"), ": ", report.failed(), " failed\n");
  return text;
}

// ---- All orders of one seed ----

namespace {

// How the failing order is run again.
std::string ReplayOrder(const Asked& asked, std::uint64_t seed,
                        const sim::explore::OrdersReport& report, std::uint64_t run) {
  Asked one = asked;
  one.strategy = report.names.at(run);
  return ReplayCommand(one, seed);
}

}  // namespace

std::string FormatOrders(const Asked& asked, std::uint64_t seed,
                         const sim::explore::OrdersReport& report, coro::Duration elapsed) {
  const ExploreReport& orders = report.orders;
  Rows rows = {{"verdict", "orders", "first run"}};
  for (const auto& [verdict, first] : orders.first) {
    rows.push_back(
        {Text(Name(verdict)), absl::StrCat(orders.count(verdict)), absl::StrCat(first.seed)});
  }
  std::string text = FormatTable(rows);
  absl::StrAppend(&text, FormatCoverage(orders.coverage, asked.coverage));
  for (const auto& [run, result] : orders.failures) {
    absl::StrAppend(&text, "\nrun ", run, ": ", Text(Name(result.verdict)), ": ", result.text,
                    "\n  ", ReplayOrder(asked, seed, report, run), "\n", CapsuleLine(asked, run));
  }
  if (orders.failed() > orders.failures.size()) {
    absl::StrAppend(&text, "\n(and ", orders.failed() - orders.failures.size(),
                    " more that failed)\n");
  }
  absl::StrAppendFormat(&text, "\n%u orders of seed %u in %u runs, %.3g s, %s: %u failed\n",
                        orders.seeds, seed, report.runs(), Seconds(elapsed),
                        report.complete ? "and there are no more" : "and there are more",
                        orders.failed());
  return text;
}

std::string OrdersJson(const Asked& asked, std::uint64_t seed,
                       const sim::explore::OrdersReport& report, coro::Duration elapsed) {
  const ExploreReport& orders = report.orders;
  json verdicts = json::object();
  for (std::size_t i = 0; i < kVerdictCount; ++i) {
    const auto verdict = static_cast<Verdict>(i);
    verdicts[Text(Name(verdict))] = orders.count(verdict);
  }
  json failures = json::array();
  for (const auto& [run, result] : orders.failures) {
    failures.push_back({{"run", run},
                        {"order", report.names.at(run)},
                        {"verdict", Text(Name(result.verdict))},
                        {"text", result.text},
                        {"digest", result.digest.ToHex()},
                        {"replay", ReplayOrder(asked, seed, report, run)}});
    const auto capsule = asked.capsules.find(run);
    if (capsule != asked.capsules.end()) failures.back()["capsule"] = capsule->second;
  }
  return Dump({{"scenario", asked.scenario},
               {"faults", asked.faults},
               {"strategy", asked.strategy},
               {"seed", seed},
               {"orders", orders.seeds},
               {"runs", report.runs()},
               {"redundant", report.redundant},
               {"complete", report.complete},
               {"failed", orders.failed()},
               {"seconds", Seconds(elapsed)},
               {"verdicts", verdicts},
               {"coverage", ToJson(orders.coverage)},
               {"failures", failures}});
}

std::string ReportJson(const Asked& asked, const ExploreReport& report,
                       std::optional<coro::Duration> elapsed) {
  json verdicts = json::object();
  for (std::size_t i = 0; i < kVerdictCount; ++i) {
    const auto verdict = static_cast<Verdict>(i);
    verdicts[Text(Name(verdict))] = report.count(verdict);
  }
  json rules = json::array();
  for (const auto& [name, total] : report.rules) {
    rules.push_back({{"name", name},
                     {"seeds", total.seeds},
                     {"fired_seeds", total.fired_seeds},
                     {"eligible", total.eligible},
                     {"fired", total.fired}});
  }
  json failures = json::array();
  for (const auto& [seed, result] : report.failures) failures.push_back(ToJson(asked, result));
  json object = {{"scenario", asked.scenario},
                 {"faults", asked.faults},
                 {"strategy", asked.strategy},
                 {"seeds", report.seeds},
                 {"failed", report.failed()},
                 {"events", report.events},
                 {"verdicts", verdicts},
                 {"rules", rules},
                 {"coverage", ToJson(report.coverage)},
                 {"failures", failures}};
  if (elapsed.has_value()) object["seconds"] = Seconds(*elapsed);
  return Dump(object);
}

std::string FormatSeed(const Asked& asked, const fabric::faults::FaultPlan& plan,
                       const SeedResult& result) {
  std::string text =
      absl::StrCat("scenario ", asked.scenario, ", seed ", result.seed, ", faults ", asked.faults,
                   asked.strategy == "random" ? "" : ", strategy " + asked.strategy, "\n");
  if (!plan.rules.empty()) {
    absl::StrAppend(&text, "\n", fabric::faults::FormatFaultPlan(plan), "\n\n");
    Rows rows = {{"rule", "eligible", "fired"}};
    for (const auto& rule : result.rules) {
      rows.push_back({rule.name, absl::StrCat(rule.eligible), absl::StrCat(rule.fired)});
    }
    absl::StrAppend(&text, FormatTable(rows));
  }
  absl::StrAppend(&text, FormatCoverage(result.coverage, asked.coverage));
  absl::StrAppend(&text, "\n", FormatCount(result.events, "event"), ", digest ",
                  result.digest.ToHex(), "\n", Text(Name(result.verdict)),
                  result.text.empty() ? "" : ": ", result.text, "\n");
  if (!result.waits.empty()) absl::StrAppend(&text, "\n", result.waits);
  return text;
}

std::string SeedJson(const Asked& asked, const fabric::faults::FaultPlan& plan,
                     const SeedResult& result) {
  json object = ToJson(asked, result);
  object["scenario"] = asked.scenario;
  object["faults"] = asked.faults;
  object["strategy"] = asked.strategy;
  object["coverage"] = ToJson(result.coverage);
  object["plan"] = json::parse(fabric::faults::FormatFaultPlan(plan));
  object["waits"] = result.waits;
  object["rules"] = json::array();
  for (const auto& rule : result.rules) {
    object["rules"].push_back(
        {{"name", rule.name}, {"eligible", rule.eligible}, {"fired", rule.fired}});
  }
  return Dump(object);
}

std::string FormatScenarios(const std::vector<const Scenario*>& scenarios) {
  Rows rows = {{"scenario", "what it does", "parameters"}};
  for (const Scenario* scenario : scenarios) {
    rows.push_back({Text(scenario->name()), Text(scenario->description()),
                    sim::explore::FormatParameters(AllParameters(scenario->parameters(), {}))});
  }
  return FormatTable(rows);
}

std::string ScenariosJson(const std::vector<const Scenario*>& scenarios) {
  json array = json::array();
  for (const Scenario* scenario : scenarios) {
    json parameters = json::array();
    for (const sim::explore::Parameter& parameter : scenario->parameters()) {
      parameters.push_back({{"name", Text(parameter.name)},
                            {"usual", parameter.usual},
                            {"least", parameter.least},
                            {"most", parameter.most},
                            {"meaning", Text(parameter.meaning)}});
    }
    array.push_back({{"name", Text(scenario->name())},
                     {"description", Text(scenario->description())},
                     {"parameters", parameters}});
  }
  return Dump(array);
}

std::string VerdictsCsv(const ExploreReport& report) {
  ResultTable table("explore", Origin::kSimulated, {{"verdict"}, {"runs"}, {"first"}});
  for (std::size_t i = 0; i < kVerdictCount; ++i) {
    const auto verdict = static_cast<Verdict>(i);
    const auto first = report.first.find(verdict);
    table.AddRow({TextCell(Text(Name(verdict))), CountCell(report.count(verdict)),
                  first == report.first.end() ? NoCell() : CountCell(first->second.seed)});
  }
  return ToCsv(table);
}

std::string SeedCsv(const SeedResult& result) {
  ResultTable table("explore", Origin::kSimulated,
                    {{"seed"}, {"verdict"}, {"text"}, {"events"}, {"digest"}});
  table.AddRow({CountCell(result.seed), TextCell(Text(Name(result.verdict))), TextCell(result.text),
                CountCell(result.events), TextCell(result.digest.ToHex())});
  return ToCsv(table);
}

std::string ScenariosCsv(const std::vector<const Scenario*>& scenarios) {
  ResultTable table("explore", Origin::kFound, {{"name"}, {"description"}, {"parameters"}});
  for (const Scenario* scenario : scenarios) {
    table.AddRow(
        {TextCell(Text(scenario->name())), TextCell(Text(scenario->description())),
         TextCell(sim::explore::FormatParameters(AllParameters(scenario->parameters(), {})))});
  }
  return ToCsv(table);
}

}  // namespace drydock::apps
