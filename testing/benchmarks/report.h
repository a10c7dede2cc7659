// What a benchmark prints: one table of figures, as every program does (apps/common/report), and
// the goals that they were held against.

#ifndef DRYDOCK_TESTING_BENCHMARKS_REPORT_H_
#define DRYDOCK_TESTING_BENCHMARKS_REPORT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "drydock/apps/common/report/result_table.h"

namespace drydock::bench {

using apps::Cell;

inline Cell Text(std::string text) { return apps::TextCell(std::move(text)); }
// With that many digits after the point.
inline Cell Number(double value, int decimals) { return apps::NumberCell(value, decimals); }
inline Cell Count(std::uint64_t value) { return apps::CountCell(value); }
// Not measured, or without meaning here: "-" and null.
inline Cell Nothing() { return apps::NoCell(); }

// Something that was promised.
struct Goal {
  enum class State {
    kMet,
    kMissed,
    kUnmeasured,  // it should have been measured, and could not be: as bad as missed
    kSkipped,     // the program to compare with is not installed
  };
  std::string name;      // "64 B: live simulator against the best shm"
  std::string limit;     // "at least 1.5"
  std::string measured;  // "1.72"; empty where there is nothing
  State state = State::kUnmeasured;
};

// `measured` >= or <= `limit`; kUnmeasured where there is no measurement. Shown with that many
// digits after the point.
Goal AtLeast(std::string name, std::optional<double> measured, double limit, int decimals = 2);
Goal AtMost(std::string name, std::optional<double> measured, double limit, int decimals = 2);

// How a goal went: "pass", "FAIL", "not measured" or "skipped".
std::string Verdict(const Goal& goal);

class Report {
 public:
  // `name` of the benchmark; `columns` are the heading, and the keys in JSON.
  Report(std::string name, const std::vector<std::string>& columns)
      : table_(std::move(name), apps::Origin::kMeasured, {columns.begin(), columns.end()}) {}

  // REQUIRES: as many cells as columns.
  void AddRow(std::vector<Cell> row) { table_.AddRow(std::move(row)); }
  void AddGoal(Goal goal) { goals_.push_back(std::move(goal)); }
  // A line under the table: omitted rows, with the reason.
  void AddNote(std::string note) { table_.AddNote(std::move(note)); }

  std::size_t row_count() const { return table_.rows().size(); }

  // The table; then, each after an empty line, how many goals pass with a line for each that does
  // not, and the notes.
  std::string ToText() const;
  // One object: benchmark, rows (an object each), goals, notes.
  std::string ToJson() const;

  std::string ToCsv() const { return apps::ToCsv(table_); }
  std::string ToSvg() const { return apps::ToSvg(table_); }

  // False when a goal was missed, or should have been measured and was not.
  bool GoalsHold() const;

 private:
  apps::ResultTable table_;
  std::vector<Goal> goals_;
};

}  // namespace drydock::bench

#endif  // DRYDOCK_TESTING_BENCHMARKS_REPORT_H_
