// How many seeds a second are explored, and how many operations a second the simulator completes
// with all its checks on, in virtual time. See docs/performance.md.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/apps/explore/write_scenario.h"
#include "drydock/coro/status_macros.h"
#include "drydock/sim/explore/classics/classics.h"
#include "drydock/sim/explore/plan_source.h"
#include "drydock/sim/explore/run_seed.h"
#include "drydock/sim/explore/scenario.h"
#include "drydock/testing/benchmarks/options.h"
#include "drydock/testing/benchmarks/paired.h"
#include "drydock/testing/benchmarks/report.h"
#include "drydock/testing/benchmarks/sim_paths.h"
#include "drydock/testing/benchmarks/statistics.h"
#include "drydock/testing/benchmarks/write_path.h"

namespace drydock::bench {
namespace {

using sim::explore::PlanSource;
using sim::explore::Scenario;
using sim::explore::SeedResult;

constexpr std::size_t kRounds = 15;
constexpr std::size_t kBytes = 64;
constexpr std::size_t kMostWindow = 64;

struct Row {
  Case measured;
  std::optional<double> at_least;  // per second
};

Row WritesOf(WritePath& path, std::size_t window, std::optional<double> at_least) {
  const Shape shape = {.bytes = kBytes, .window = window};
  return {{.name = absl::StrCat("64 B write, ", window, " at a time"),
           .granule = window,
           .run = [&path, shape](std::uint64_t count) { return path.Write(shape, count); }},
          at_least};
}

// Every run takes the seeds that follow those of the last one: what is quoted is the mean of many.
Row SeedsOf(const Scenario& scenario, PlanSource plans, std::optional<double> at_least) {
  const std::string name =
      absl::StrCat("seed of ", std::string(scenario.name()), ", faults ", plans.name);
  auto next = std::make_shared<std::uint64_t>(1);
  auto run = [&scenario, plans = std::move(plans), next](std::uint64_t seeds) -> absl::Status {
    for (std::uint64_t i = 0; i < seeds; ++i) {
      const SeedResult result = RunSeed(scenario, (*next)++, plans);
      if (IsFailure(result.verdict)) {
        return absl::InternalError(absl::StrCat("seed ", result.seed, ": ", result.text));
      }
    }
    return absl::OkStatus();
  };
  return {{.name = name, .granule = 1, .run = std::move(run)}, at_least};
}

absl::StatusOr<std::vector<Row>> OpenRows(WritePath& path, const Buffers& buffers) {
  RETURN_IF_ERROR(VerifyPath(path, buffers, {.bytes = kBytes, .window = kMostWindow}));
  std::vector<Row> rows = {WritesOf(path, 1, 1e6), WritesOf(path, 16, 1e6),
                           WritesOf(path, kMostWindow, std::nullopt)};
  rows.push_back(SeedsOf(apps::WriteScenario(), sim::explore::Swarm(), 1500));
  rows.push_back(SeedsOf(apps::WriteScenario(), sim::explore::NoFaults(), std::nullopt));
  for (const Scenario* classic : sim::explore::Classics()) {
    rows.push_back(SeedsOf(*classic, sim::explore::Swarm(), std::nullopt));
    rows.push_back(SeedsOf(*classic, sim::explore::NoFaults(), std::nullopt));
  }
  return rows;
}

void AddRow(const Row& row, const Series& series, const Series& first, Report& report) {
  const Summary cost = Summarize(series.nanoseconds);
  const double per_second = 1e9 / cost.median;
  std::string verdict = "-";
  if (row.at_least.has_value()) {
    const Goal goal =
        AtLeast(absl::StrCat(series.name, ": a second"), per_second, *row.at_least, 0);
    verdict = Verdict(goal);
    report.AddGoal(goal);
  }
  report.AddRow({Text(series.name), Number(per_second, 0), Number(cost.median / 1e3, 2),
                 Number(Compare(series.nanoseconds, first.nanoseconds).median, 1),
                 Text(row.at_least ? absl::StrCat(*row.at_least) : "-"), Text(verdict)});
}

absl::StatusOr<Report> Run(const Options& options, const std::function<void()>& tick) {
  const Buffers buffers(kBytes * kMostWindow);
  ASSIGN_OR_RETURN(const std::unique_ptr<WritePath> path, OpenVirtualTimePath(buffers));
  ASSIGN_OR_RETURN(const std::vector<Row> rows, OpenRows(*path, buffers));
  std::vector<Case> cases;
  for (const Row& row : rows) cases.push_back(row.measured);
  const ProcessorClock clock;
  ASSIGN_OR_RETURN(const std::vector<Series> series,
                   MeasurePaired(cases, options.paired, clock, tick));
  Report report("explore", {"what", "a second", "us each", "64 B writes", "goal", "result"});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    AddRow(rows[i], series[i], series.front(), report);
  }
  report.AddNote(
      "Virtual time, one core, all checks on. A 64 B write: posted, completed at both ends with "
      "its "
      "immediate. A seed: a world, its plan, the whole program, its verdict; write "
      "has "
      "2 nodes and 16 pages of 4 KiB.");
  return report;
}

std::size_t Ticks(const Options& options) {
  return options.paired.rounds * (5 + 2 * sim::explore::Classics().size());
}

}  // namespace
}  // namespace drydock::bench

int main(int argc, char** argv) {
  return drydock::bench::RunMain(
      argc, argv, "explore", "Prints how many seeds and operations a second are simulated.",
      drydock::bench::kRounds, drydock::bench::Ticks, drydock::bench::Run);
}
