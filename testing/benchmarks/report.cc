#include "drydock/testing/benchmarks/report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "drydock/apps/common/report/result_json.h"

namespace drydock::bench {
namespace {

const char* Name(Goal::State state) {
  switch (state) {
    case Goal::State::kMet:
      return "pass";
    case Goal::State::kMissed:
      return "FAIL";
    case Goal::State::kUnmeasured:
      return "not measured";
    case Goal::State::kSkipped:
      return "skipped";
  }
  return "unknown";
}

Goal Judged(std::string name, std::optional<double> measured, const char* relation, double limit,
            int decimals) {
  Goal goal{.name = std::move(name), .limit = absl::StrFormat("%s %g", relation, limit)};
  if (measured.has_value()) goal.measured = absl::StrFormat("%.*f", decimals, *measured);
  return goal;
}

Goal::State StateOf(bool met) { return met ? Goal::State::kMet : Goal::State::kMissed; }

}  // namespace

Goal AtLeast(std::string name, std::optional<double> measured, double limit, int decimals) {
  Goal goal = Judged(std::move(name), measured, "at least", limit, decimals);
  if (measured.has_value()) goal.state = StateOf(*measured >= limit);
  return goal;
}

Goal AtMost(std::string name, std::optional<double> measured, double limit, int decimals) {
  Goal goal = Judged(std::move(name), measured, "at most", limit, decimals);
  if (measured.has_value()) goal.state = StateOf(*measured <= limit);
  return goal;
}

std::string Verdict(const Goal& goal) { return Name(goal.state); }

std::string Report::ToText() const {
  std::string text = apps::ToAlignedRows(table_);
  std::size_t passed = 0;
  std::string others;
  for (const Goal& goal : goals_) {
    if (goal.state == Goal::State::kMet) {
      ++passed;
      continue;
    }
    absl::StrAppend(&others, Name(goal.state), ": ", goal.name, ": ",
                    goal.measured.empty() ? "" : absl::StrCat(goal.measured, ", "), "goal ",
                    goal.limit, "\n");
  }
  if (!goals_.empty()) {
    absl::StrAppend(&text, "\n", passed, " of ", goals_.size(), " goals pass\n", others);
  }
  if (!table_.notes().empty()) absl::StrAppend(&text, "\n");
  for (const std::string& note : table_.notes()) absl::StrAppend(&text, note, "\n");
  return text;
}

std::string Report::ToJson() const {
  nlohmann::ordered_json json;
  json["benchmark"] = table_.name();
  json["rows"] = apps::RowsJson(table_);
  json["goals"] = nlohmann::ordered_json::array();
  for (const Goal& goal : goals_) {
    json["goals"].push_back({{"name", goal.name},
                             {"limit", goal.limit},
                             {"measured", goal.measured},
                             {"state", Name(goal.state)}});
  }
  json["notes"] = table_.notes();
  return json.dump(2) + "\n";
}

bool Report::GoalsHold() const {
  return std::all_of(goals_.begin(), goals_.end(), [](const Goal& goal) {
    return goal.state == Goal::State::kMet || goal.state == Goal::State::kSkipped;
  });
}

}  // namespace drydock::bench
