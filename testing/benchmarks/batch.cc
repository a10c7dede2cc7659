// What the transfer engine costs over the same writes on the bare endpoint, and how many pages a
// second it posts and completes on one thread. See docs/transfer.md.

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/apps/common/units.h"
#include "drydock/coro/status_macros.h"
#include "drydock/testing/benchmarks/engine_path.h"
#include "drydock/testing/benchmarks/options.h"
#include "drydock/testing/benchmarks/paired.h"
#include "drydock/testing/benchmarks/report.h"
#include "drydock/testing/benchmarks/sim_paths.h"
#include "drydock/testing/benchmarks/statistics.h"
#include "drydock/testing/benchmarks/write_path.h"

namespace drydock::bench {
namespace {

constexpr std::array<std::size_t, 4> kSizes = {64, 256, 1024, 4096};
constexpr std::array<std::size_t, 2> kWindows = {16, 64};
constexpr std::size_t kRounds = 21;
// What one thread posted on EFA at the most (arXiv 2510.27656, table 2), in millions a second.
constexpr double kPublished = 2.2;
// Transfers of so many pages at least.
constexpr std::uint64_t kGranule = 4096;

absl::StatusOr<std::vector<Series>> MeasureShape(WritePath& raw, WritePath& engine,
                                                 const Buffers& buffers, const Shape& shape,
                                                 const Options& options,
                                                 const std::function<void()>& tick) {
  std::vector<Case> cases;
  for (WritePath* const path : {&raw, &engine}) {
    RETURN_IF_ERROR(VerifyPath(*path, buffers, shape));
    cases.push_back({path->name(), options.smoke ? shape.window : kGranule,
                     [path, shape](std::uint64_t writes) { return path->Write(shape, writes); }});
  }
  return MeasurePaired(cases, options.paired, ProcessorClock(), tick);
}

double MillionsASecond(const Series& series) { return 1e3 / Summarize(series.nanoseconds).median; }

void AddRow(const Shape& shape, const Series& raw, const Series& engine, Report& report) {
  const Ratio ratio = Compare(engine.nanoseconds, raw.nanoseconds);
  const double rate = MillionsASecond(engine);
  std::string verdict = "-";
  if (shape.window == kWindows.back()) {
    const Goal goal = AtLeast(absl::StrCat(apps::FormatBytes(shape.bytes), ", window ",
                                           shape.window, ": million pages/s"),
                              rate, kPublished);
    verdict = Verdict(goal);
    report.AddGoal(goal);
  }
  const double more = Summarize(engine.nanoseconds).median - Summarize(raw.nanoseconds).median;
  report.AddRow({Count(shape.bytes), Count(shape.window), Number(MillionsASecond(raw), 2),
                 Number(rate, 2), Number(ratio.median, 2), Number(ratio.lower_quartile, 2),
                 Number(ratio.upper_quartile, 2), Number(more, 0), Text(verdict)});
}

absl::StatusOr<Report> Run(const Options& options, const std::function<void()>& tick) {
  Report report("batch", {"bytes", "window", "raw M/s", "engine M/s", "engine/raw", "quartile 1",
                          "quartile 3", "engine ns more", "goal"});
  const Buffers buffers(kSizes.back() * kWindows.back());
  ASSIGN_OR_RETURN(const auto raw, OpenLivePath(buffers));
  for (const std::size_t window : kWindows) {
    ASSIGN_OR_RETURN(const auto engine, OpenLiveEnginePath(buffers, window));
    for (const std::size_t bytes : kSizes) {
      const Shape shape{.bytes = bytes, .window = window};
      ASSIGN_OR_RETURN(const auto series,
                       MeasureShape(*raw, *engine, buffers, shape, options, tick));
      AddRow(shape, series[0], series[1], report);
    }
  }
  report.AddNote(
      "Writes with immediates on the live simulator, one thread for both ends and the devices. "
      "raw: "
      "posted one by one on the bare endpoint, both completions read. engine: pages of transfers "
      "through queues, balance, window and bursts of 16, counted by the receiver as distinct "
      "pages. "
      "engine/raw: time of a page, median of the ratios of each round. Goal: what one thread was "
      "published to post on EFA (arXiv 2510.27656).");
  return report;
}

}  // namespace
}  // namespace drydock::bench

int main(int argc, char** argv) {
  return drydock::bench::RunMain(
      argc, argv, "batch",
      "how many pages a second the transfer engine writes, beside the bare endpoint.",
      drydock::bench::kRounds,
      [](const drydock::bench::Options& options) {
        return options.paired.rounds * drydock::bench::kSizes.size() *
               drydock::bench::kWindows.size() * 2;
      },
      drydock::bench::Run);
}
