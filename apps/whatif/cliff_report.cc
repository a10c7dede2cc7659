#include "drydock/apps/whatif/cliff_report.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "drydock/apps/common/csv.h"
#include "drydock/apps/common/plot.h"
#include "drydock/apps/common/text_table.h"
#include "drydock/apps/common/units.h"
#include "nlohmann/json.hpp"

namespace drydock::apps::whatif {
namespace {

using Json = nlohmann::ordered_json;
using Rows = std::vector<std::vector<std::string>>;

std::string Rate(double gbps, double share) {
  return absl::StrFormat("%.1f Gbit/s (%.0f %%)", gbps, share * 100);
}

std::string Reached(const Outcome& outcome, Measure measure) {
  return measure == Measure::kRate ? Rate(outcome.gbps, outcome.share)
                                   : FormatDuration(outcome.latency);
}

std::string Reached(const Simulated& simulated, Measure measure) {
  return measure == Measure::kRate ? Rate(simulated.gbps, simulated.share)
                                   : FormatDuration(simulated.latency);
}

// "page 64 KiB"; of numbers, how far it goes on both sides: "page 16 KiB to 1 MiB", "window <= 8".
std::string Text(const Dimension& dimension, const Feature& feature, std::size_t value) {
  const auto label = [&](std::size_t i) { return dimension.values[i].label; };
  if (!dimension.ordered) return absl::StrCat(dimension.name, " ", label(value));
  const auto has = [&](std::size_t i) {
    return std::find(feature.values.begin(), feature.values.end(), i) != feature.values.end();
  };
  std::size_t first = value;
  while (first > 0 && has(first - 1)) --first;
  std::size_t last = value;
  while (last + 1 < dimension.values.size() && has(last + 1)) ++last;
  if (first == last) return absl::StrCat(dimension.name, " ", label(value));
  if (first == 0) return absl::StrCat(dimension.name, " <= ", label(last));
  if (last + 1 == dimension.values.size()) {
    return absl::StrCat(dimension.name, " >= ", label(first));
  }
  return absl::StrCat(dimension.name, " ", label(first), " to ", label(last));
}

// What the neighbour has instead.
std::string Change(const Space& space, const Cliff& cliff) {
  std::vector<std::string> changes;
  for (std::size_t i = 0; i < cliff.point.size(); ++i) {
    if (cliff.point[i] == cliff.neighbour[i]) continue;
    const Dimension& dimension = space.dimensions()[i];
    changes.push_back(
        absl::StrCat(dimension.name, " ", dimension.values[cliff.neighbour[i]].label));
  }
  return absl::StrJoin(changes, ", ");
}

// What differs from the plain workload.
std::string Workload(const Space& space, const Cliff& cliff) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < cliff.point.size(); ++i) {
    const Dimension& dimension = space.dimensions()[i];
    if (cliff.point[i] == dimension.plain) continue;
    parts.push_back(absl::StrCat(dimension.name, " ", dimension.values[cliff.point[i]].label));
  }
  return parts.empty() ? "as it is" : absl::StrJoin(parts, ", ");
}

// What no workload of the space exceeds, and what would be next if that were lifted.
std::string Ceiling(const CliffReport& report) {
  const Outcome& highest = report.found.highest;
  const sim::model::Bound& limit = highest.bounds.front();
  const sim::model::Bound& next = highest.bounds[1];
  return absl::StrFormat("%.1f %% of the links, by %s; next is %s at %.1f %%",
                         highest.of_links * 100, std::string(Name(limit.limiter)),
                         std::string(Name(next.limiter)),
                         highest.of_links * 100 * next.operations_per_s / limit.operations_per_s);
}

std::string Simulation(const CliffReport& report, std::size_t i) {
  if (report.confirmations.empty()) return "not asked";
  const Confirmation& confirmation = report.confirmations[i];
  const Measure measure = report.found.cliffs[i].measure;
  if (confirmation.verdict == Verdict::kModelOnly) return "model only";
  return absl::StrCat(Name(confirmation.verdict), ": ", Reached(confirmation.here, measure), ", ",
                      Reached(confirmation.there, measure));
}

const char* Kind(const CliffReport& report) {
  return report.confirmations.empty() ? "predicted" : "predicted and simulated";
}

std::string ForPeople(const CliffReport& report) {
  const Space& space = report.space;
  std::string text = absl::StrCat(
      "profile    ", space.profile().name, " (", space.profile().description,
      "): both machines\nfigures    ", Kind(report), " from the profile, not measured\n",
      "plain      ", report.plain, "\nseed       ", report.seed, ", ", report.found.predicted,
      " workloads predicted\nceiling    ", Ceiling(report), "\ncliffs     ",
      report.found.cliffs.size(),
      absl::StrFormat(": rates at least %.0f %% under a neighbour's, latencies %.1f times\n",
                      report.depth * 100, report.times),
      "shares     of the links; of the NICs' request rate where pages are too short to fill "
      "them\n");
  if (report.found.cliffs.empty()) return text;
  Rows rows = {{"#", "reaches", "best neighbour", "with", "limiter", "simulator"}};
  Rows features = {{"#", "the plain workload, but", "each of these is needed"}};
  for (std::size_t i = 0; i < report.found.cliffs.size(); ++i) {
    const Cliff& cliff = report.found.cliffs[i];
    const std::string number = absl::StrCat(i + 1);
    rows.push_back({number, Reached(cliff.here, cliff.measure), Reached(cliff.there, cliff.measure),
                    Change(space, cliff), std::string(Name(cliff.limiter)), Simulation(report, i)});
    features.push_back({number, Workload(space, cliff), FeaturesOf(space, cliff)});
  }
  absl::StrAppend(&text, "\n", FormatTable(features), "\n", FormatTable(rows));
  Rows reasons = {{"#", "why the simulator was not asked"}};
  for (std::size_t i = 0; i < report.confirmations.size(); ++i) {
    if (report.confirmations[i].reason.empty()) continue;
    reasons.push_back({absl::StrCat(i + 1), report.confirmations[i].reason});
  }
  if (reasons.size() > 1) absl::StrAppend(&text, "\n", FormatTable(reasons));
  return text;
}

Json ToJson(const Outcome& outcome) {
  return {{"gbps", outcome.gbps},
          {"share", outcome.share},
          {"latency_us", static_cast<double>(outcome.latency.count()) / 1e3}};
}

Json ToJson(const Simulated& simulated) {
  return {{"gbps", simulated.gbps},
          {"share", simulated.share},
          {"latency_us", static_cast<double>(simulated.latency.count()) / 1e3}};
}

Json ToJson(const Confirmation& confirmation) {
  Json json = {{"verdict", std::string(Name(confirmation.verdict))}};
  if (confirmation.verdict == Verdict::kModelOnly) {
    json["reason"] = confirmation.reason;
  } else {
    json["reached"] = ToJson(confirmation.here);
    json["neighbour"] = ToJson(confirmation.there);
  }
  return json;
}

Json ToJson(const Space& space, const Cliff& cliff) {
  Json point = Json::object();
  for (std::size_t i = 0; i < cliff.point.size(); ++i) {
    const Dimension& dimension = space.dimensions()[i];
    point[dimension.name] = dimension.values[cliff.point[i]].label;
  }
  Json features = Json::object();
  for (const Feature& feature : cliff.features) {
    const Dimension& dimension = space.dimensions()[feature.dimension];
    Json values = Json::array();
    for (const std::size_t value : feature.values) values.push_back(dimension.values[value].label);
    features[dimension.name] = values;
  }
  return {{"measure", std::string(Name(cliff.measure))},
          {"limiter", std::string(Name(cliff.limiter))},
          {"workload", point},
          {"features", features},
          {"reached", ToJson(cliff.here)},
          {"neighbour", ToJson(cliff.there)},
          {"neighbour_with", Change(space, cliff)}};
}

std::string ForScripts(const CliffReport& report) {
  Json cliffs = Json::array();
  for (std::size_t i = 0; i < report.found.cliffs.size(); ++i) {
    cliffs.push_back(ToJson(report.space, report.found.cliffs[i]));
    if (!report.confirmations.empty()) {
      cliffs.back()["simulated"] = ToJson(report.confirmations[i]);
    }
  }
  const Outcome& highest = report.found.highest;
  const Json json = {
      {"kind", Kind(report)},
      {"profile", report.space.profile().name},
      {"seed", report.seed},
      {"depth", report.depth},
      {"times", report.times},
      {"predicted", report.found.predicted},
      {"ceiling",
       {{"of_links", highest.of_links}, {"limiter", std::string(Name(highest.limiter))}}},
      {"cliffs", cliffs}};
  return absl::StrCat(json.dump(2), "\n");
}

std::string ForSheets(const CliffReport& report) {
  Rows rows = {{"profile", "measure", "limiter", "features", "gbps", "neighbour_gbps", "latency_us",
                "neighbour_latency_us", "neighbour_with", "simulated"}};
  for (std::size_t i = 0; i < report.found.cliffs.size(); ++i) {
    const Cliff& cliff = report.found.cliffs[i];
    const auto microseconds = [](const Outcome& outcome) {
      return absl::StrCat(static_cast<double>(outcome.latency.count()) / 1e3);
    };
    rows.push_back(
        {report.space.profile().name, std::string(Name(cliff.measure)),
         std::string(Name(cliff.limiter)), FeaturesOf(report.space, cliff),
         absl::StrCat(cliff.here.gbps), absl::StrCat(cliff.there.gbps), microseconds(cliff.here),
         microseconds(cliff.there), Change(report.space, cliff),
         report.confirmations.empty() ? "not asked"
                                      : std::string(Name(report.confirmations[i].verdict))});
  }
  return FormatCsv(rows);
}

// Rates only: latencies have no share.
std::string Picture(const CliffReport& report) {
  std::vector<std::string> labels;
  BarSeries here{"reaches", {}};
  BarSeries there{"best neighbour", {}};
  for (const Cliff& cliff : report.found.cliffs) {
    if (cliff.measure != Measure::kRate) continue;
    labels.push_back(FeaturesOf(report.space, cliff));
    here.values.push_back(cliff.here.share * 100);
    there.values.push_back(cliff.there.share * 100);
  }
  return DrawBars({absl::StrCat(report.space.profile().name, ": cliffs"), "predicted", "",
                   "% of what the NICs can"},
                  labels, std::vector<BarSeries>{here, there});
}

}  // namespace

std::string FeaturesOf(const Space& space, const Cliff& cliff) {
  std::vector<std::string> parts;
  for (const Feature& feature : cliff.features) {
    parts.push_back(
        Text(space.dimensions()[feature.dimension], feature, cliff.point[feature.dimension]));
  }
  return absl::StrJoin(parts, ", ");
}

std::string Render(const CliffReport& report, OutputForm form) {
  switch (form) {
    case OutputForm::kJson:
      return ForScripts(report);
    case OutputForm::kCsv:
      return ForSheets(report);
    case OutputForm::kText:
      break;
  }
  return ForPeople(report);
}

std::string ToSvg(const CliffReport& report) { return Picture(report); }

}  // namespace drydock::apps::whatif
