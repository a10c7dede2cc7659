// The results of a program, as rows: printed as a table, as JSON, as comma-separated values, as
// charts. One value has four forms, so that none has facts that another lacks.
//
//   ResultTable table("batch", Origin::kSimulated, {{"NIC", "nic"}, {"Gbit/s", "gbps", "Gbit/s"}});
//   table.AddRow({TextCell("rdmap79s0"), NumberCell(91.3, 1)});
//   std::cout << ToText(table);

#ifndef DRYDOCK_APPS_COMMON_REPORT_RESULT_TABLE_H_
#define DRYDOCK_APPS_COMMON_REPORT_RESULT_TABLE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "drydock/coro/time.h"

namespace drydock::apps {

// How the figures were made: every form says so.
enum class Origin : std::uint8_t {
  kMeasured,   // by a clock, on this machine
  kSimulated,  // in virtual time
  kPredicted,  // calculated
  kFound,      // facts, not figures
};

// "measured", "simulated", "predicted", "found".
absl::string_view NameOf(Origin origin);

// The text for a person, and the value behind it, in the column's unit, for a program.
struct Cell {
  using Value = std::variant<std::monostate, bool, std::uint64_t, std::int64_t, double, std::string,
                             std::vector<std::string>>;

  std::string text;
  Value value;
};

Cell TextCell(std::string text);
Cell CountCell(std::uint64_t value);
Cell SignedCell(std::int64_t value);
// With that many digits after the point.
Cell NumberCell(double value, int decimals);
// "yes" or "no".
Cell YesCell(bool value);
// "16 MiB"; the value is in bytes. "1.35 ms"; the value is in nanoseconds.
Cell BytesCell(std::uint64_t bytes);
Cell DurationCell(coro::Duration duration);
// A list in JSON; with semicolons elsewhere.
Cell ListCell(const std::vector<std::string>& items);
// Not known, or without meaning here: "-"; null in JSON, nothing in CSV.
Cell NoCell();

struct Column {
  Column(std::string heading_, std::string key_ = "", std::string unit_ = "")  // NOLINT
      : heading(std::move(heading_)),
        key(key_.empty() ? heading : std::move(key_)),
        unit(std::move(unit_)) {}

  std::string heading;  // for a person
  std::string key;      // for a program: in JSON and CSV
  std::string unit;     // of the values: B, ns, Gbit/s; empty: none, or the heading says it
};

// A value.
class ResultTable {
 public:
  // `name`: of the program, or of its work.
  ResultTable(std::string name, Origin origin, std::vector<Column> columns)
      : name_(std::move(name)), origin_(origin), columns_(std::move(columns)) {}

  // REQUIRES: as many cells as columns.
  void AddRow(std::vector<Cell> row);
  // A line under the table.
  void AddNote(std::string note) { notes_.push_back(std::move(note)); }

  const std::string& name() const { return name_; }
  Origin origin() const { return origin_; }
  const std::vector<Column>& columns() const { return columns_; }
  const std::vector<std::vector<Cell>>& rows() const { return rows_; }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::string name_;
  Origin origin_;
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
  std::vector<std::string> notes_;
};

// Aligned, with a heading; notes after an empty line.
std::string ToText(const ResultTable& table);
// The same without the notes.
std::string ToAlignedRows(const ResultTable& table);

// One object: name, origin, units (of the columns that have one), rows (an object each), notes.
std::string ToJson(const ResultTable& table);
// Of a table of one row: the row as an object. `indent` -1: on one line.
std::string ToRecordJson(const ResultTable& table, int indent = 2);

// A line each; the columns' keys first.
std::string ToCsv(const ResultTable& table);

// A chart for each column of figures (NumberCell, or nothing): a bar a row, named by the cells in
// front of the first of these columns. Without such columns: an empty image.
std::string ToSvg(const ResultTable& table);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_REPORT_RESULT_TABLE_H_
