#include "drydock/fabric/coverage/report.h"

#include "absl/strings/str_cat.h"

namespace drydock::fabric::coverage {

std::string_view Name(PointKind kind) {
  switch (kind) {
    case PointKind::kAlways:
      return "always";
    case PointKind::kSometimes:
      return "sometimes";
    case PointKind::kReachable:
      return "reachable";
  }
  return "unknown";
}

void Report::Merge(const Report& other) {
  for (const auto& [point, count] : other.points) {
    PointCount& sum = points[point];
    sum.runs += count.runs;
    sum.held += count.held;
    sum.failed += count.failed;
  }
  for (const auto& [cell, count] : other.cells) cells[cell] += count;
}

std::optional<Point> Report::broken_point() const {
  for (const auto& [point, count] : points) {
    if (point.kind == PointKind::kAlways && count.failed > 0) return point;
  }
  return std::nullopt;
}

std::optional<std::string> Report::broken() const {
  const std::optional<Point> point = broken_point();
  if (!point.has_value()) return std::nullopt;
  const PointCount& count = points.at(*point);
  return absl::StrCat("always \"", point->name, "\" did not hold, ", count.failed, " of ",
                      count.held + count.failed, " times");
}

}  // namespace drydock::fabric::coverage
