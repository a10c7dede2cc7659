#include "drydock/apps/explore/coverage_tables.h"

#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/apps/common/text_table.h"
#include "drydock/sim/coverage/matrix.h"

namespace drydock::apps {
namespace {

using fabric::coverage::Cell;
using fabric::coverage::Report;

using Rows = std::vector<std::vector<std::string>>;

std::string PointTable(const Report& report) {
  Rows rows = {{"point", "name", "held in", "held", "did not"}};
  for (const auto& [point, count] : report.points) {
    rows.push_back({std::string(Name(point.kind)), point.name, absl::StrCat(count.runs),
                    absl::StrCat(count.held), absl::StrCat(count.failed)});
  }
  return FormatTable(rows);
}

std::string CellTable(const Report& report, bool all) {
  std::set<std::string> nics;
  for (const auto& [cell, count] : report.cells) nics.insert(cell.nic);
  Rows rows = {{"operation", "outcome"}};
  rows[0].insert(rows[0].end(), nics.begin(), nics.end());
  for (const std::string& operation : sim::coverage::OperationNames()) {
    for (const std::string& outcome : sim::coverage::OutcomeNames()) {
      if (outcome.empty()) continue;
      std::vector<std::string> row = {operation, outcome};
      bool seen = false;
      for (const std::string& nic : nics) {
        const auto found = report.cells.find(Cell{operation, outcome, nic});
        seen = seen || found != report.cells.end();
        row.push_back(found == report.cells.end() ? "-" : absl::StrCat(found->second));
      }
      if (seen || (all && sim::coverage::IsPossible(operation, outcome)))
        rows.push_back(std::move(row));
    }
  }
  return FormatTable(rows);
}

}  // namespace

std::string FormatCoverage(const Report& report, CoverageDetail detail) {
  std::string text;
  if (detail == CoverageDetail::kNone) return text;
  if (!report.points.empty()) absl::StrAppend(&text, "\n", PointTable(report));
  if (!report.cells.empty()) {
    absl::StrAppend(&text, "\n", CellTable(report, detail == CoverageDetail::kAll));
  }
  return text;
}

}  // namespace drydock::apps
