// Whether the simulator's p5 profile keeps the time of a real p5: fi_rma_bw's sweep in virtual
// time beside the published one. See docs/performance.md.

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "apps/common/units.h"
#include "coro/status_macros.h"
#include "sim/profile.h"
#include "sim/sim_fabric.h"
#include "sim/world.h"
#include "testing/benchmarks/options.h"
#include "testing/benchmarks/published_p5.h"
#include "testing/benchmarks/report.h"
#include "testing/benchmarks/rma_bandwidth.h"
#include "testing/benchmarks/statistics.h"

ABSL_FLAG(std::uint64_t, seed, 1,
          "Seed of the first simulated world; each further round takes the next.");

namespace bench {
namespace {

constexpr double kTolerance = 0.15;
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

absl::StatusOr<Report> Run(const Options& options, const std::function<void()>& tick) {
  Report report("profile_p5", {"bytes", "measured us", "published us", "ratio", "measured GB/s",
                               "published GB/s", "goal"});
  for (const PublishedPoint& point : kPublishedP5) {
    ASSIGN_OR_RETURN(const double nanoseconds, Measure(point.bytes, options, tick));
    const double measured = nanoseconds / 1e3;
    const double bytes = static_cast<double>(point.bytes);
    const double ratio = measured / point.microseconds;
    const bool promised = point.bytes <= kPromisedBytes;
    const Goal goal = AtMost(absl::StrCat(apps::FormatBytes(point.bytes), ": distance from 1"),
                             std::abs(ratio - 1), kTolerance, 3);
    report.AddRow({Count(point.bytes), Number(measured, 2), Number(point.microseconds, 2),
                   Number(ratio, 3), Number(bytes / nanoseconds, 3),
                   Number(bytes / point.microseconds / 1e3, 3),
                   promised ? Text(Verdict(goal)) : Nothing()});
    if (promised) report.AddGoal(goal);
  }
  report.AddNote(absl::StrCat(
      "fi_rma_bw's writes, one NIC, one writer, a window of 64, in virtual time; the median of ",
      options.paired.rounds, " seeds from ", absl::GetFlag(FLAGS_seed),
      " on. Published: abcdabcd987/libfabric-efa-demo data/fi_rma_bw.txt. "
      "Goal: within 15 % up to 768 KiB."));
  return report;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  return bench::RunMain(
      argc, argv, "profile_p5",
      "the time that writes take on the simulator's p5 profile, beside what a real p5 takes.",
      bench::kRounds,
      [](const bench::Options& options) {
        return options.paired.rounds * bench::kPublishedP5.size();
      },
      bench::Run);
}
