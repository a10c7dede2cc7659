// The coverage of one run, or of many together: the points of a program, and how many operations
// ended how at which NIC, which simulated devices count by themselves.

#ifndef DRYDOCK_FABRIC_COVERAGE_REPORT_H_
#define DRYDOCK_FABRIC_COVERAGE_REPORT_H_

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace drydock::fabric::coverage {

enum class PointKind : std::uint8_t { kAlways, kSometimes, kReachable };

// "always", "sometimes", "reachable". Static storage.
std::string_view Name(PointKind kind);

struct Point {
  PointKind kind = PointKind::kReachable;
  std::string name;

  friend auto operator<=>(const Point&, const Point&) = default;
};

struct PointCount {
  std::uint64_t runs = 0;    // in which it held, or was reached
  std::uint64_t held = 0;    // times
  std::uint64_t failed = 0;  // times that the condition was false

  friend bool operator==(const PointCount&, const PointCount&) = default;
};

// One way in which one kind of operation ended at one NIC.
struct Cell {
  std::string operation;  // "write", "remote_write"
  std::string outcome;    // "ok", "remote_address", "again": see sim/coverage/matrix.h
  std::string nic;        // "server/rdmap79s0"

  friend auto operator<=>(const Cell&, const Cell&) = default;
};

// A value.
struct Report {
  std::map<Point, PointCount> points;
  std::map<Cell, std::uint64_t> cells;  // completions

  // Adds the coverage of another run, or of other runs.
  void Merge(const Report& other);
  // The first point that always holds and did not; absent: there is none. And what happened there,
  // in one line.
  std::optional<Point> broken_point() const;
  std::optional<std::string> broken() const;

  friend bool operator==(const Report&, const Report&) = default;
};

}  // namespace drydock::fabric::coverage

#endif  // DRYDOCK_FABRIC_COVERAGE_REPORT_H_
