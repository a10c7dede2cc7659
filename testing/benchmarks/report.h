// What a benchmark prints: one table of figures, the goals that they were held against, and the
// same as JSON, as comma-separated values and as charts.

#ifndef TESTING_BENCHMARKS_REPORT_H_
#define TESTING_BENCHMARKS_REPORT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"

namespace bench {

// One cell of the table: what a person reads, and the value behind it.
struct Cell {
  std::string text;
  nlohmann::ordered_json value;
};

Cell Text(std::string text);
// With that many digits after the point.
Cell Number(double value, int decimals);
Cell Count(std::uint64_t value);
// Not measured, or without meaning here: "-" and null.
Cell Nothing();

// Something that was promised.
struct Goal {
  enum class State {
    kMet,
    kMissed,
    kUnmeasured,  // it should have been measured, and could not be: as bad as missed
    kSkipped,     // what it compares with is not installed here
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
  Report(std::string name, std::vector<std::string> columns)
      : name_(std::move(name)), columns_(std::move(columns)) {}

  // REQUIRES: as many cells as columns.
  void AddRow(std::vector<Cell> row);
  void AddGoal(Goal goal) { goals_.push_back(std::move(goal)); }
  // A line under the table: what was left out, and why.
  void AddNote(std::string note) { notes_.push_back(std::move(note)); }

  std::size_t row_count() const { return rows_.size(); }

  // The table; then, each after an empty line, how many goals pass with a line for each that does
  // not, and the notes.
  std::string ToText() const;
  // One object: benchmark, rows (an object each), goals, notes.
  std::string ToJson() const;

  // The table, a line each, the heading first.
  std::string ToCsv() const;
  // A chart for each column of figures that were measured: a bar a row, named by the cells in front
  // of the first of them.
  std::string ToSvg() const;

  // False when a goal was missed, or should have been measured and was not.
  bool GoalsHold() const;

 private:
  // Columns in which every cell is a measured figure or nothing; what stands in front of them in a
  // row.
  std::vector<std::size_t> FigureColumns() const;
  std::string LabelOf(const std::vector<Cell>& row, std::size_t first_figure) const;

  std::string name_;
  std::vector<std::string> columns_;
  std::vector<std::vector<Cell>> rows_;
  std::vector<Goal> goals_;
  std::vector<std::string> notes_;
};

}  // namespace bench

#endif  // TESTING_BENCHMARKS_REPORT_H_
