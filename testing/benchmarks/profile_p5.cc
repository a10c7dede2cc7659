// Whether the simulator's p5 profile keeps the time of a real p5, and whether the predictor does:
// fi_rma_bw's sweep in virtual time and calculated, beside the published one. See
// docs/performance.md.

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "drydock/apps/common/units.h"
#include "drydock/coro/status_macros.h"
#include "drydock/sim/driver/sim_fabric.h"
#include "drydock/sim/model/predictor.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/world/world.h"
#include "drydock/testing/benchmarks/options.h"
#include "drydock/testing/benchmarks/published_p5.h"
#include "drydock/testing/benchmarks/report.h"
#include "drydock/testing/benchmarks/rma_bandwidth.h"
#include "drydock/testing/benchmarks/statistics.h"

ABSL_FLAG(std::uint64_t, seed, 1,
          "Seed of the first simulated world; each further round takes the next.");

namespace drydock::bench {
namespace {

constexpr double kTolerance = 0.10;  // of what is simulated, and of what is calculated
constexpr std::size_t kRounds = 3;

RmaBandwidthOptions OptionsFor(std::size_t bytes, bool smoke) {
  if (smoke) return {.bytes = bytes, .window = 2, .warm_up = 1, .iterations = 3};
  return {.bytes = bytes, .iterations = RmaBandwidthIterations(bytes)};
}

// Nanoseconds of one write in a world of that seed.
absl::StatusOr<double> Simulate(std::size_t bytes, std::uint64_t seed, bool smoke) {
  const absl::StatusOr<const sim::Profile*> profile = sim::FindProfile("p5");
  if (!profile.ok()) return profile.status();
  sim::World world(seed, **profile);
  const auto initiator = sim::OpenSimFabric(world, world.AddNode("initiator"));
  const auto target = sim::OpenSimFabric(world, world.AddNode("target"));
  return MeasureRmaBandwidth(*initiator, *target, world, OptionsFor(bytes, smoke));
}

// The median of as many seeds as there are rounds.
absl::StatusOr<double> Measure(std::size_t bytes, const Options& options,
                               const std::function<void()>& tick) {
  std::vector<double> samples;
  for (std::size_t round = 0; round < options.paired.rounds; ++round) {
    const std::uint64_t seed = absl::GetFlag(FLAGS_seed) + round;
    ASSIGN_OR_RETURN(const double nanoseconds, Simulate(bytes, seed, options.smoke));
    samples.push_back(nanoseconds);
    tick();
  }
  return Summarize(samples).median;
}

// Microseconds of one write, calculated.
absl::StatusOr<double> Predict(std::size_t bytes) {
  ASSIGN_OR_RETURN(const sim::Profile* const profile, sim::FindProfile("p5"));
  sim::model::Workload load;
  load.bare = true;
  load.burst = 1;
  load.page_bytes = bytes;
  load.window = RmaBandwidthOptions{}.window;
  load.pattern = sim::model::Pattern::kDrained;
  ASSIGN_OR_RETURN(const sim::model::Prediction prediction, sim::model::Predict(*profile, load));
  return 1e6 / prediction.operations_per_s;
}

Goal Near(std::size_t bytes, const char* what, double ratio, double tolerance) {
  return AtMost(absl::StrCat(apps::FormatBytes(bytes), ", ", what, ": distance from 1"),
                std::abs(ratio - 1), tolerance, 3);
}

absl::StatusOr<Report> Run(const Options& options, const std::function<void()>& tick) {
  Report report("profile_p5", {"bytes", "simulated us", "published us", "ratio", "predicted us",
                               "ratio", "simulated GB/s", "published GB/s", "goals"});
  for (const PublishedPoint& point : kPublishedP5) {
    ASSIGN_OR_RETURN(const double nanoseconds, Measure(point.bytes, options, tick));
    ASSIGN_OR_RETURN(const double predicted, Predict(point.bytes));
    const double simulated = nanoseconds / 1e3;
    const double bytes = static_cast<double>(point.bytes);
    const double ratio = simulated / point.microseconds;
    const double predicted_ratio = predicted / point.microseconds;
    const Goal goal = Near(point.bytes, "simulated", ratio, kTolerance);
    const Goal predicted_goal = Near(point.bytes, "predicted", predicted_ratio, kTolerance);
    const bool promised = point.bytes <= kPromisedBytes;
    const std::string verdicts =
        absl::StrCat("simulated ", Verdict(goal), ", predicted ", Verdict(predicted_goal));
    report.AddRow({Count(point.bytes), Number(simulated, 2), Number(point.microseconds, 2),
                   Number(ratio, 3), Number(predicted, 2), Number(predicted_ratio, 3),
                   Number(bytes / nanoseconds, 3), Number(bytes / point.microseconds / 1e3, 3),
                   promised ? Text(verdicts) : Nothing()});
    if (!promised) continue;
    report.AddGoal(goal);
    report.AddGoal(predicted_goal);
  }
  report.AddNote(absl::StrCat(
      "fi_rma_bw's writes, one NIC, one writer, a window of 64, in virtual time; the median of ",
      options.paired.rounds, " seeds from ", absl::GetFlag(FLAGS_seed),
      " on. Published: abcdabcd987/libfabric-efa-demo data/fi_rma_bw.txt. "
      "Goals up to 768 KiB: simulated and predicted within 10 %."));
  return report;
}

}  // namespace
}  // namespace drydock::bench

int main(int argc, char** argv) {
  return drydock::bench::RunMain(
      argc, argv, "profile_p5",
      "the time that writes take on the simulator's p5 profile, beside what a real p5 takes.",
      drydock::bench::kRounds,
      [](const drydock::bench::Options& options) {
        return options.paired.rounds * drydock::bench::kPublishedP5.size();
      },
      drydock::bench::Run);
}
