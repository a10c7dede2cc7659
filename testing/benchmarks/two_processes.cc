// What libfabric's own provider `efa` costs on simulated NICs between two processes, beside its
// providers shm and tcp, which use no NIC. See docs/performance.md.

#include <unistd.h>

#include <array>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/testing/benchmarks/options.h"
#include "drydock/testing/benchmarks/process_session.h"
#include "drydock/testing/benchmarks/report.h"
#include "drydock/testing/benchmarks/statistics.h"
#include "drydock/testing/benchmarks/two_threads.h"

namespace drydock::bench {
namespace {

constexpr std::size_t kRounds = 7;
constexpr double kMostOverShm = 3;
constexpr double kLeastRate = 0.7;
constexpr double kMostShare = 0.001;

// Beside this program, as the build lays them out, where it is started: it goes elsewhere later.
const std::string kEfaRun = std::filesystem::absolute("sim/verbs/efa-run").string();

struct Path {
  const char* name;
  const char* provider;
  std::vector<std::string> launcher;  // before the program
  bool has_goals = false;
};

std::vector<Path> Paths() {
  const std::string fabric = absl::StrCat("--fabric=two-processes-", getpid());
  const auto launch = [&fabric](std::vector<std::string> more) {
    std::vector<std::string> words = {kEfaRun, "--quiet", "--profile=p5", "--nics=1", fabric};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  return {{"efa, no delays", "efa", launch({"--delays=off"}), true},
          {"efa, p5", "efa", launch({})},
          {"shm", "shm", {}},
          {"tcp", "tcp", {}}};
}
constexpr std::size_t kPaths = 4;
constexpr std::size_t kShm = 2;

// samples[path][way]: one of each round.
using Samples = std::array<std::array<std::vector<double>, kWays.size()>, kPaths>;

const char* Describe(Way way) {
  switch (way) {
    case Way::kMessages:
      return "64 B messages, half round trip";
    case Way::kWrites:
      return "64 B writes, half round trip";
    case Way::kLargeWrites:
      return "1 MiB writes, stream";
    case Way::kSleep:
      return "asleep";
  }
  return "";
}

absl::StatusOr<Samples> Measure(const std::vector<Path>& paths, const Options& options,
                                const std::function<void()>& tick) {
  Samples samples;
  for (std::size_t round = 0; round < options.paired.rounds; ++round) {
    for (std::size_t turn = 0; turn < paths.size(); ++turn) {
      // None is always behind the same one.
      const std::size_t i = (round % 2 == 0 ? turn : paths.size() - 1 - turn);
      ASSIGN_OR_RETURN(const Figures figures,
                       RunSession(paths[i].provider, paths[i].launcher, options.smoke));
      for (std::size_t way = 0; way < kWays.size(); ++way) {
        samples[i][way].push_back(figures[way]);
      }
      tick();
    }
  }
  return samples;
}

Goal GoalOf(Way way, double time_over_shm, double share) {
  switch (way) {
    case Way::kMessages:
    case Way::kWrites:
      return AtMost(absl::StrCat(Describe(way), ", without delays: over shm"), time_over_shm,
                    kMostOverShm);
    case Way::kLargeWrites:
      return AtLeast(absl::StrCat(Describe(way), ", without delays: rate over shm's"),
                     1 / time_over_shm, kLeastRate);
    case Way::kSleep:
      break;
  }
  return AtMost("asleep: part of a processor", share, kMostShare, 5);
}

void AddRow(const Path& path, Way way, const std::vector<double>& figures,
            const std::vector<double>& shm, Report& report) {
  const Summary summary = Summarize(figures);
  const bool sleeps = way == Way::kSleep;
  const double over_shm = sleeps ? 0 : Compare(figures, shm).median;
  Cell verdict = Text("-");
  if (path.has_goals) {
    const Goal goal = GoalOf(way, over_shm, summary.median);
    verdict = Text(Verdict(goal));
    report.AddGoal(goal);
  }
  const bool large = way == Way::kLargeWrites;
  report.AddRow(
      {Text(Describe(way)), Text(path.name), sleeps ? Nothing() : Number(summary.median, 2),
       sleeps ? Nothing() : Number(summary.lower_quartile, 2),
       sleeps ? Nothing() : Number(summary.upper_quartile, 2),
       large ? Number(static_cast<double>(kLongBytes) / 1e3 / summary.median, 2) : Nothing(),
       sleeps ? Nothing() : Number(over_shm, 2),
       sleeps ? Number(100 * summary.median, 4) : Nothing(), verdict});
}

void AddNotes(Report& report) {
  report.AddNote(absl::StrCat(
      "Two processes that spin, by our libfabric backend: an endpoint each, time on the wall. A "
      "round "
      "has a session of each path; a figure is the median over the rounds, with quartiles; over "
      "shm: "
      "the median of the ratios of each round. Stream: ",
      kStreamSlots, " writes with immediate under way, each ", kStreamBurst,
      " acknowledged. asleep: of a second in which the program sleeps with open endpoints, the ",
      "busier process. efa: under efa-run, one NIC of p5, with its delays and with --delays=off."));
  if (Processors() >= 2) return;
  report.AddNote("This program may use one processor only, which the two processes share.");
}

absl::StatusOr<Report> Run(const Options& options, const std::function<void()>& tick) {
  Report report("two_processes", {"what", "path", "us", "quartile 1", "quartile 3", "GB/s",
                                  "over shm", "% of a CPU", "goal"});
  const std::vector<Path> paths = Paths();
  ASSIGN_OR_RETURN(const Samples samples, Measure(paths, options, tick));
  for (std::size_t way = 0; way < kWays.size(); ++way) {
    for (std::size_t i = 0; i < paths.size(); ++i) {
      AddRow(paths[i], kWays[way], samples[i][way], samples[kShm][way], report);
    }
  }
  AddNotes(report);
  return report;
}

}  // namespace
}  // namespace drydock::bench

int main(int argc, char** argv) {
  if (const auto status = drydock::bench::SessionMain()) return *status;
  return drydock::bench::RunMain(
      argc, argv, "two_processes",
      "libfabric's provider efa on simulated NICs between two processes, beside shm and tcp.",
      drydock::bench::kRounds,
      [](const drydock::bench::Options& options) {
        return options.paired.rounds * drydock::bench::kPaths;
      },
      drydock::bench::Run);
}
