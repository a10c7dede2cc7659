#include "drydock/apps/explore/dependence_report.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/apps/common/text_table.h"
#include "drydock/coro/status_macros.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/profile/unpublished.h"
#include "nlohmann/json.hpp"

namespace drydock::apps {
namespace {

using nlohmann::json;
using sim::UnpublishedFigure;
using sim::explore::Dependence;

using Rows = std::vector<std::vector<std::string>>;

// The value of the one figure of an edge, as it is written.
std::string EdgeValue(const Dependence& dependence, std::int64_t value) {
  const std::string& name = dependence.figures.begin()->first;
  for (const UnpublishedFigure& figure : sim::UnpublishedFigures()) {
    if (figure.name == name) return FormatFigure(figure, value);
  }
  return "";
}

// The command with the smallest set in place of the seed's own figures.
std::string Replay(const Asked& asked, const FoundDependence& found) {
  Asked one = asked;
  const std::string figures = sim::FormatFigures(found.dependence.figures);
  one.flags = asked.other_flags;
  if (!figures.empty()) {
    absl::StrAppend(&one.flags, one.flags.empty() ? "" : " ", "--figures=", figures);
  }
  return ReplayCommand(one, found.result.seed);
}

std::string Needed(const Dependence& dependence) {
  return dependence.figures.empty() ? "none: it fails as the profile is"
                                    : sim::FormatFigures(dependence.figures);
}

}  // namespace

absl::StatusOr<std::vector<FoundDependence>> FindDependences(
    const sim::explore::Scenario& scenario, const sim::explore::ExploreOptions& options,
    const sim::explore::ExploreReport& report) {
  std::vector<FoundDependence> all;
  for (const auto& [seed, result] : report.failures) {
    ASSIGN_OR_RETURN(Dependence dependence,
                     FindDependence(scenario, SpecOf(options, seed), result.verdict));
    all.push_back({result, std::move(dependence)});
  }
  return all;
}

std::string FormatDependences(const Asked& asked, const std::vector<FoundDependence>& found) {
  if (found.empty()) return "";
  Rows rows = {{"seed", "verdict", "depends on", "right with", "wrong with", "runs"}};
  std::string commands;
  for (const FoundDependence& one : found) {
    const Dependence& dependence = one.dependence;
    const bool edge = dependence.edge.has_value();
    rows.push_back({absl::StrCat(one.result.seed), std::string(Name(one.result.verdict)),
                    Needed(dependence), edge ? EdgeValue(dependence, dependence.edge->right) : "-",
                    edge ? EdgeValue(dependence, dependence.edge->wrong) : "-",
                    absl::StrCat(dependence.runs)});
    absl::StrAppend(&commands, "  ", Replay(asked, one), "\n");
  }
  return absl::StrCat("\n", FormatTable(rows), "\n", commands);
}

std::string WithDependences(const std::string& report, const Asked& asked,
                            const std::vector<FoundDependence>& found) {
  json object = json::parse(report);
  object["dependences"] = json::array();
  for (const FoundDependence& one : found) {
    const Dependence& dependence = one.dependence;
    json entry = {{"seed", one.result.seed},
                  {"verdict", std::string(Name(one.result.verdict))},
                  {"figures", dependence.figures},
                  {"runs", dependence.runs},
                  {"replay", Replay(asked, one)}};
    if (dependence.edge.has_value()) {
      entry["right_with"] = dependence.edge->right;
      entry["wrong_with"] = dependence.edge->wrong;
    }
    object["dependences"].push_back(std::move(entry));
  }
  return object.dump();
}

std::string FormatFigureTable() {
  const sim::Profile& usual = sim::Profiles()[0];
  Rows rows = {{"figure", "small has", "least", "most", "why"}};
  for (const UnpublishedFigure& figure : sim::UnpublishedFigures()) {
    rows.push_back({std::string(figure.name), FormatFigure(figure, figure.get(usual)),
                    FormatFigure(figure, figure.least), FormatFigure(figure, figure.most),
                    std::string(figure.reason)});
  }
  return FormatTable(rows);
}

std::string FigureTableJson() {
  const sim::Profile& usual = sim::Profiles()[0];
  json array = json::array();
  for (const UnpublishedFigure& figure : sim::UnpublishedFigures()) {
    array.push_back({{"name", std::string(figure.name)},
                     {"is_time", figure.is_time},
                     {"small", figure.get(usual)},
                     {"least", figure.least},
                     {"most", figure.most},
                     {"reason", std::string(figure.reason)}});
  }
  return array.dump();
}

}  // namespace drydock::apps
