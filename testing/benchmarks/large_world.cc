// What large worlds cost: memory, time to make one, and time for each event, as machines are added.
// See docs/performance.md.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/coro/status_macros.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/world/world.h"
#include "drydock/testing/benchmarks/exchange.h"
#include "drydock/testing/benchmarks/options.h"
#include "drydock/testing/benchmarks/report.h"
#include "drydock/testing/benchmarks/statistics.h"

namespace drydock::bench {
namespace {

using WallClock = std::chrono::steady_clock;

constexpr std::size_t kBytes = 65536;
constexpr std::size_t kRounds = 3;
constexpr double kMiB = 1 << 20;

double SecondsSince(WallClock::time_point start) {
  return std::chrono::duration<double>(WallClock::now() - start).count();
}

// Memory of this process that is in use.
double ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t total = 0;
  std::uint64_t resident = 0;
  statm >> total >> resident;
  return static_cast<double>(resident) * 4096;
}

struct Size {
  std::string profile;
  std::size_t machines = 0;
  std::size_t distances = 1;  // rounds of the exchange
};

struct Figures {
  std::size_t nics = 0;
  double open_seconds = 0;
  double resident_bytes = 0;  // after the first round
  std::uint64_t events = 0;
  double nanoseconds_per_event = 0;
};

absl::StatusOr<Figures> MeasureSize(const Size& size, std::size_t rounds) {
  ASSIGN_OR_RETURN(const sim::Profile* const profile, sim::FindProfile(size.profile));
  Figures figures;
  const double before = ResidentBytes();
  const auto start = WallClock::now();
  ASSIGN_OR_RETURN(const std::unique_ptr<Exchange> exchange,
                   Exchange::Open(*profile, size.machines, kBytes));
  figures.open_seconds = SecondsSince(start);
  figures.nics = exchange->nics();
  for (std::size_t distance = 1; distance <= size.distances; ++distance) {
    RETURN_IF_ERROR(exchange->Introduce(distance));
  }
  RETURN_IF_ERROR(exchange->Write(1));  // touches what is touched once
  figures.resident_bytes = ResidentBytes() - before;
  std::vector<double> costs;
  for (std::size_t round = 0; round < rounds; ++round) {
    const std::uint64_t events = exchange->world().timeline().event_count();
    const auto begin = WallClock::now();
    for (std::size_t distance = 1; distance <= size.distances; ++distance) {
      RETURN_IF_ERROR(exchange->Write(distance));
    }
    const double seconds = SecondsSince(begin);
    figures.events = exchange->world().timeline().event_count() - events;
    costs.push_back(seconds * 1e9 / static_cast<double>(figures.events));
  }
  figures.nanoseconds_per_event = Summarize(costs).median;
  return figures;
}

// A world of two machines of the default profile: seconds to make and close it, and bytes.
void AddSmallWorld(Report& report) {
  constexpr int kTimes = 200;
  const sim::Profile& profile = sim::Profiles().front();
  const auto open = [&profile] {
    auto world = std::make_unique<sim::World>(/*seed=*/1, profile);
    world->AddNode("a");
    world->AddNode("b");
    return world;
  };
  const double before = ResidentBytes();
  std::vector<std::unique_ptr<sim::World>> kept;
  for (int i = 0; i < kTimes; ++i) kept.push_back(open());
  const double bytes = (ResidentBytes() - before) / kTimes;
  kept.clear();
  std::vector<double> seconds;
  for (int i = 0; i < kTimes; ++i) {
    const auto start = WallClock::now();
    open();
    seconds.push_back(SecondsSince(start));
  }
  report.AddGoal(AtMost("a world of two machines: KiB", bytes / 1024, 1024, 0));
  report.AddGoal(AtMost("a world of two machines: us to make and close",
                        Summarize(seconds).median * 1e6, 100));
}

std::vector<Size> Sizes(bool smoke) {
  if (!smoke) {
    return {{"p5", 2, 1}, {"p5", 16, 1}, {"p5", 64, 63}, {"p5", 1024, 1}};
  }
  std::vector<Size> sizes;
  for (std::size_t machines = 2; machines < 10; ++machines) sizes.push_back({"small", machines, 1});
  return sizes;
}

absl::StatusOr<Report> Run(const Options& options, const std::function<void()>& tick) {
  Report report("large_world", {"machines", "NICs", "open s", "MiB", "events", "ns each",
                                "M events/s", "to 2 machines"});
  AddSmallWorld(report);
  const std::vector<Size> sizes = Sizes(options.smoke);
  std::optional<double> of_two;
  for (const Size& size : sizes) {
    // So many that a small world is not measured by a few events only.
    const std::size_t rounds = options.smoke ? 1 : size.machines < 64 ? 50 : options.paired.rounds;
    ASSIGN_OR_RETURN(const Figures figures, MeasureSize(size, rounds));
    if (!of_two.has_value()) of_two = figures.nanoseconds_per_event;
    const double ratio = figures.nanoseconds_per_event / *of_two;
    const double per_second = 1e3 / figures.nanoseconds_per_event;
    report.AddRow({Count(size.machines), Count(figures.nics), Number(figures.open_seconds, 2),
                   Number(figures.resident_bytes / kMiB, 0), Count(figures.events),
                   Number(figures.nanoseconds_per_event, 0), Number(per_second, 2),
                   Number(ratio, 2)});
    if (size.machines == 64) {
      report.AddGoal(AtMost("64 machines: time for an event, to 2 machines", ratio, 2));
      report.AddGoal(AtLeast("all-to-all of 64 machines: M events/s", per_second, 3));
    }
    if (size.machines == 1024) {
      report.AddGoal(
          AtMost("1,024 machines of 32 NICs: GiB", figures.resident_bytes / kMiB / 1024, 8));
      report.AddGoal(AtMost("1,024 machines: time for an event, to 2 machines", ratio, 2));
    }
    tick();
  }
  report.AddNote(
      "Virtual time, one core, all checks and the digest on. Every NIC writes 64 KiB to the one of "
      "its number on the next machine; of 64 machines, to all of them in turn. Half of the memory "
      "of "
      "a large world is what is written. An event is what "
      "the timeline hands to a device: a turn of its engine, a packet, a piece of one, an answer.");
  return report;
}

std::size_t Ticks(const Options& options) { return Sizes(options.smoke).size(); }

}  // namespace
}  // namespace drydock::bench

int main(int argc, char** argv) {
  return drydock::bench::RunMain(
      argc, argv, "large_world",
      "Prints what worlds of many machines cost: memory, and time for an event.",
      drydock::bench::kRounds, drydock::bench::Ticks, drydock::bench::Run);
}
