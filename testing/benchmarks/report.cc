#include "testing/benchmarks/report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "apps/common/csv.h"
#include "apps/common/plot.h"
#include "apps/common/text_table.h"
#include "coro/check.h"

namespace bench {
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

Cell Text(std::string text) {
  nlohmann::ordered_json value = text;
  return {std::move(text), std::move(value)};
}

Cell Number(double value, int decimals) {
  return {absl::StrFormat("%.*f", decimals, value), value};
}

Cell Count(std::uint64_t value) { return {absl::StrCat(value), value}; }

Cell Nothing() { return {"-", nullptr}; }

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

void Report::AddRow(std::vector<Cell> row) {
  DD_CHECK(row.size() == columns_.size(), "a row that does not fit its table");
  rows_.push_back(std::move(row));
}

std::string Report::ToText() const {
  std::vector<std::vector<std::string>> cells = {columns_};
  for (const auto& row : rows_) {
    std::vector<std::string> texts;
    for (const Cell& cell : row) texts.push_back(cell.text);
    cells.push_back(std::move(texts));
  }
  std::string text = apps::FormatTable(cells);
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
  if (!notes_.empty()) absl::StrAppend(&text, "\n");
  for (const std::string& note : notes_) absl::StrAppend(&text, note, "\n");
  return text;
}

std::string Report::ToJson() const {
  nlohmann::ordered_json json;
  json["benchmark"] = name_;
  json["rows"] = nlohmann::ordered_json::array();
  for (const auto& row : rows_) {
    nlohmann::ordered_json object;
    for (std::size_t i = 0; i < columns_.size(); ++i) object[columns_[i]] = row[i].value;
    json["rows"].push_back(std::move(object));
  }
  json["goals"] = nlohmann::ordered_json::array();
  for (const Goal& goal : goals_) {
    json["goals"].push_back({{"name", goal.name},
                             {"limit", goal.limit},
                             {"measured", goal.measured},
                             {"state", Name(goal.state)}});
  }
  json["notes"] = notes_;
  return json.dump(2) + "\n";
}

std::string Report::ToCsv() const {
  std::vector<std::vector<std::string>> lines = {columns_};
  for (const auto& row : rows_) {
    std::vector<std::string> line;
    for (const Cell& cell : row) line.push_back(cell.value.is_null() ? "" : cell.text);
    lines.push_back(std::move(line));
  }
  return apps::FormatCsv(lines);
}

std::vector<std::size_t> Report::FigureColumns() const {
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    bool any = false;
    const bool all = std::all_of(rows_.begin(), rows_.end(), [&](const std::vector<Cell>& row) {
      any = any || row[i].value.is_number_float();
      return row[i].value.is_number_float() || row[i].value.is_null();
    });
    if (all && any) columns.push_back(i);
  }
  return columns;
}

std::string Report::LabelOf(const std::vector<Cell>& row, std::size_t first_figure) const {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < first_figure; ++i) parts.push_back(row[i].text);
  return absl::StrJoin(parts, " ");
}

std::string Report::ToSvg() const {
  std::vector<std::string> charts;
  const std::vector<std::size_t> figures = FigureColumns();
  for (const std::size_t column : figures) {
    std::vector<std::string> labels;
    apps::BarSeries bars{.name = columns_[column], .values = {}};
    for (const auto& row : rows_) {
      if (row[column].value.is_null()) continue;
      labels.push_back(LabelOf(row, figures.front()));
      bars.values.push_back(row[column].value.get<double>());
    }
    const apps::ChartText text{.title = absl::StrCat(name_, ": ", columns_[column]),
                               .subtitle = "measured",
                               .x_label = "",
                               .y_label = columns_[column]};
    charts.push_back(apps::DrawBars(text, labels, {&bars, 1}));
  }
  return apps::StackCharts(charts);
}

bool Report::GoalsHold() const {
  return std::all_of(goals_.begin(), goals_.end(), [](const Goal& goal) {
    return goal.state == Goal::State::kMet || goal.state == Goal::State::kSkipped;
  });
}

}  // namespace bench
