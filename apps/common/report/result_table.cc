#include "drydock/apps/common/report/result_table.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "drydock/apps/common/csv.h"
#include "drydock/apps/common/plot.h"
#include "drydock/apps/common/text_table.h"
#include "drydock/apps/common/units.h"
#include "drydock/coro/check.h"

namespace drydock::apps {
namespace {

using Rows = std::vector<std::vector<std::string>>;

bool IsNothing(const Cell& cell) { return std::holds_alternative<std::monostate>(cell.value); }
bool IsFigure(const Cell& cell) { return std::holds_alternative<double>(cell.value); }

// A figure as it is shown where that is a number: "91.3" and not 91.30000000000001.
struct CsvText {
  const std::string& text;

  std::string operator()(std::monostate) const { return ""; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::uint64_t value) const { return absl::StrCat(value); }
  std::string operator()(std::int64_t value) const { return absl::StrCat(value); }
  std::string operator()(double value) const {
    double shown = 0;
    return absl::SimpleAtod(text, &shown) ? text : absl::StrFormat("%.9g", value);
  }
  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(const std::vector<std::string>& items) const {
    return absl::StrJoin(items, "; ");
  }
};

// Columns in which every cell is a figure or nothing, and one at least is a figure.
std::vector<std::size_t> FigureColumns(const ResultTable& table) {
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < table.columns().size(); ++i) {
    bool any = false;
    const bool all = std::all_of(table.rows().begin(), table.rows().end(), [&](const auto& row) {
      any = any || IsFigure(row[i]);
      return IsFigure(row[i]) || IsNothing(row[i]);
    });
    if (all && any) columns.push_back(i);
  }
  return columns;
}

std::string LabelOf(const std::vector<Cell>& row, std::size_t first_figure) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < first_figure; ++i) parts.push_back(row[i].text);
  return absl::StrJoin(parts, " ");
}

}  // namespace

absl::string_view NameOf(Origin origin) {
  switch (origin) {
    case Origin::kMeasured:
      return "measured";
    case Origin::kSimulated:
      return "simulated";
    case Origin::kPredicted:
      return "predicted";
    case Origin::kFound:
      break;
  }
  return "found";
}

Cell TextCell(std::string text) { return {text, text}; }
Cell CountCell(std::uint64_t value) { return {absl::StrCat(value), value}; }
Cell SignedCell(std::int64_t value) { return {absl::StrCat(value), value}; }
Cell NumberCell(double value, int decimals) {
  return {absl::StrFormat("%.*f", decimals, value), value};
}
Cell YesCell(bool value) { return {value ? "yes" : "no", value}; }
Cell BytesCell(std::uint64_t bytes) { return {FormatBytes(bytes), bytes}; }
Cell DurationCell(coro::Duration duration) {
  return {FormatDuration(duration), std::int64_t{duration.count()}};
}
Cell ListCell(const std::vector<std::string>& items) {
  return {items.empty() ? "-" : absl::StrJoin(items, "; "), items};
}
Cell NoCell() { return {"-", std::monostate()}; }

void ResultTable::AddRow(std::vector<Cell> row) {
  DD_CHECK(row.size() == columns_.size(), "a row that does not fit its table");
  rows_.push_back(std::move(row));
}

std::string ToAlignedRows(const ResultTable& table) {
  Rows lines(1);
  for (const Column& column : table.columns()) lines[0].push_back(column.heading);
  for (const std::vector<Cell>& row : table.rows()) {
    std::vector<std::string>& line = lines.emplace_back();
    for (const Cell& cell : row) line.push_back(cell.text);
  }
  return FormatTable(lines);
}

std::string ToText(const ResultTable& table) {
  std::string text = ToAlignedRows(table);
  if (!table.notes().empty()) absl::StrAppend(&text, "\n");
  for (const std::string& note : table.notes()) absl::StrAppend(&text, note, "\n");
  return text;
}

std::string ToCsv(const ResultTable& table) {
  Rows lines(1);
  for (const Column& column : table.columns()) lines[0].push_back(column.key);
  for (const std::vector<Cell>& row : table.rows()) {
    std::vector<std::string>& line = lines.emplace_back();
    for (const Cell& cell : row) line.push_back(std::visit(CsvText{cell.text}, cell.value));
  }
  return FormatCsv(lines);
}

std::string ToSvg(const ResultTable& table) {
  std::vector<std::string> charts;
  const std::vector<std::size_t> figures = FigureColumns(table);
  for (const std::size_t column : figures) {
    const Column& what = table.columns()[column];
    std::vector<std::string> labels;
    std::vector<double> values;
    for (const std::vector<Cell>& row : table.rows()) {
      const double* figure = std::get_if<double>(&row[column].value);
      if (figure == nullptr) continue;
      labels.push_back(LabelOf(row, figures.front()));
      values.push_back(*figure);
    }
    const ChartText text{.title = absl::StrCat(table.name(), ": ", what.heading),
                         .subtitle = std::string(NameOf(table.origin())),
                         .x_label = "",
                         .y_label = what.unit.empty() ? what.heading : what.unit};
    charts.push_back(DrawRows(text, labels, values));
  }
  return StackCharts(charts);
}

}  // namespace drydock::apps
