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

std::optional<std::string> Report::broken() const {
  for (const auto& [point, count] : points) {
    if (point.kind != PointKind::kAlways || count.failed == 0) continue;
    return absl::StrCat("always \"", point.name, "\" did not hold, ", count.failed, " of ",
                        count.held + count.failed, " times");
  }
  return std::nullopt;
}

}  // namespace drydock::fabric::coverage
