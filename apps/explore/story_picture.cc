#include "drydock/apps/explore/story_picture.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "drydock/apps/common/svg.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/faults/fault.h"
#include "drydock/fabric/operation.h"
#include "drydock/sim/world/run_trace.h"

namespace drydock::apps {
namespace {

using sim::FiringEntry;
using sim::OperationEntry;
using sim::RunTrace;
using sim::explore::RunSpec;

constexpr std::size_t kMostArrows = 24;
constexpr std::size_t kMostCrosses = 24;
constexpr double kWidth = 820;
constexpr double kMargin = 110;  // for times, and half of a NIC's name
constexpr double kTop = 50;
constexpr double kRow = 32;
constexpr double kTextRow = 17;
constexpr std::size_t kTextColumns = 118;
constexpr absl::string_view kCalm = "#7b8794";
constexpr absl::string_view kDisturbed = "#c81e1e";
constexpr absl::string_view kLine = "#cbd2d9";

// Words of `text` in lines of so many characters.
std::vector<std::string> Wrapped(const std::string& text) {
  std::vector<std::string> lines(1);
  for (const absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > kTextColumns) {
      lines.emplace_back();
    }
    absl::StrAppend(&lines.back(), lines.back().empty() ? "" : " ", word);
  }
  return lines;
}

class Picture {
 public:
  Picture(const RunSpec& spec, const RunTrace& trace)
      : spec_(spec),
        trace_(trace),
        arrows_(std::min<std::uint64_t>(trace.operation_count, kMostArrows)),
        crosses_(std::min<std::uint64_t>(trace.firing_count, kMostCrosses)) {
    PlaceNics();
    PlaceMoments();
  }

  std::string Draw(const std::vector<std::string>& story) {
    const double bottom = kTop + kRow * static_cast<double>(rows_.size() + 1);
    for (const auto& [nic, x] : columns_) {
      svg_.Line(x, kTop - 8, x, bottom, kLine, 1.5);
      svg_.Text(x, kTop - 18, trace_.nics[nic].data(), 200, {.bold = true, .anchor = "middle"});
    }
    for (const auto& [time, y] : rows_) {
      svg_.Text(8, y + 4, absl::StrFormat("%.3f us", static_cast<double>(time.count()) / 1000), 90,
                {.size_px = 11, .colour = kCalm});
    }
    for (std::size_t i = 0; i < arrows_; ++i) DrawOperation(i, bottom);
    for (std::size_t i = 0; i < crosses_; ++i) DrawFiring(trace_.firings[i]);
    double y = bottom + 30;
    for (const std::string& sentence : story) {
      for (const std::string& line : Wrapped(sentence)) {
        svg_.Text(8, y, line, kWidth, {});
        y += kTextRow;
      }
    }
    return svg_.Finish(kWidth, y);
  }

 private:
  void PlaceNics() {
    std::set<std::uint32_t> nics;
    for (std::size_t i = 0; i < arrows_; ++i) {
      for (const std::uint32_t nic : {trace_.operations[i].from, trace_.operations[i].to}) {
        if (nic < RunTrace::kMostNics) nics.insert(nic);
      }
    }
    const double gaps = static_cast<double>(std::max<std::size_t>(nics.size(), 2) - 1);
    double x = kMargin + 70;
    for (const std::uint32_t nic : nics) {
      columns_[nic] = x;
      x += (kWidth - 2 * kMargin - 70) / gaps;
    }
  }

  void PlaceMoments() {
    for (std::size_t i = 0; i < arrows_; ++i) {
      rows_[trace_.operations[i].fetched] = 0;
      if (trace_.operations[i].landed) rows_[trace_.operations[i].landing] = 0;
    }
    for (std::size_t i = 0; i < crosses_; ++i) rows_[trace_.firings[i].time] = 0;
    double y = kTop;
    for (auto& [time, row] : rows_) row = y += kRow;
  }

  bool IsDisturbed(std::uint64_t index) const {
    return spec_.disturbed.has_value() &&
           std::find(spec_.disturbed->begin(), spec_.disturbed->end(), index) !=
               spec_.disturbed->end();
  }

  // From where it is posted to where its last byte lands; without a head where it does not.
  void DrawOperation(std::size_t index, double bottom) {
    const OperationEntry& entry = trace_.operations[index];
    const auto from = columns_.find(entry.from);
    if (from == columns_.end()) return;
    const auto to = columns_.find(entry.to);
    const absl::string_view colour = IsDisturbed(index) ? kDisturbed : kCalm;
    const std::string_view kind = fabric::Name(entry.kind);
    std::string label =
        absl::StrCat(std::string(kind), ", ", entry.bytes, entry.bytes == 1 ? " byte" : " bytes");
    if (entry.has_immediate) absl::StrAppend(&label, ", immediate ", entry.immediate);
    const double x = from->second;
    const double y = rows_[entry.fetched];
    const double end_x = to == columns_.end() ? x + 60 : to->second;
    if (entry.landed) {
      DrawArrow(x, y, end_x, rows_[entry.landing], colour);
    } else {
      absl::StrAppend(&label, ": does not land");
      const double part = 0.85;
      svg_.Line(x, y, x + (end_x - x) * part, y + (bottom - y) * part, colour, 1.5);
    }
    const bool right = end_x >= x;
    svg_.Text(right ? x + 6 : x - 6, y - 4, label, 300,
              {.size_px = 11, .colour = colour, .anchor = right ? "start" : "end"});
  }

  void DrawArrow(double x, double y, double end_x, double end_y, absl::string_view colour) {
    svg_.Line(x, y, end_x, end_y, colour, 1.5);
    const double back = end_x >= x ? -9 : 9;
    const std::array<Point, 3> head = {Point{end_x + back, end_y - 5}, Point{end_x, end_y},
                                       Point{end_x + back, end_y + 3}};
    svg_.Polyline(head, colour, 1.5);
  }

  void DrawFiring(const FiringEntry& entry) {
    double x = kMargin - 12;  // of no NIC in particular
    for (const auto& [nic, column] : columns_) {
      if (absl::string_view(trace_.nics[nic].data()) == entry.nic.data()) x = column;
    }
    const double y = rows_[entry.time];
    svg_.Line(x - 5, y - 5, x + 5, y + 5, kDisturbed, 2);
    svg_.Line(x - 5, y + 5, x + 5, y - 5, kDisturbed, 2);
    const std::string_view name =
        fabric::faults::Describe(spec_.plan.rules[entry.id.rule].fault).name;
    svg_.Text(x - 10, y + 15, std::string(name), 160,
              {.size_px = 11, .bold = true, .colour = kDisturbed, .anchor = "end"});
  }

  const RunSpec& spec_;
  const RunTrace& trace_;
  const std::size_t arrows_;
  const std::size_t crosses_;
  std::map<std::uint32_t, double> columns_;  // of NICs, by index
  std::map<coro::Duration, double> rows_;    // of moments
  Svg svg_;
};

}  // namespace

std::string DrawShrunk(const sim::explore::ShrinkReport& report) {
  return Picture(report.capsule.run, *report.run.trace).Draw(report.story);
}

}  // namespace drydock::apps
