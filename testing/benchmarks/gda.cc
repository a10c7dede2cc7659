// What a write costs that a device posts by itself, in the three ways to ring and by the device
// library, beside a loop that looks after nothing. By the device's own clock; the NIC is simulated, on a thread of the host.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "drydock/apps/common/device_choice.h"
#include "drydock/coro/clock.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/memory.h"
#include "drydock/gpu/gda/device/kernels.h"
#include "drydock/gpu/gda/kernels.h"
#include "drydock/gpu/gda/sim_pair.h"
#include "drydock/gpu/gda/sim_ranks.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/testing/benchmarks/options.h"
#include "drydock/testing/benchmarks/paired.h"
#include "drydock/testing/benchmarks/report.h"
#include "drydock/testing/benchmarks/statistics.h"

ABSL_FLAG(std::string, device, "auto", "Whose threads post: host, cuda:N or auto.");

namespace drydock::bench {
namespace {

using namespace gpu::gda;  // NOLINT(build/namespaces)

constexpr std::size_t kRounds = 21;
constexpr std::uint32_t kBytes = 64;
constexpr unsigned kWarp = 32;  // threads
constexpr std::uint32_t kBatches[] = {1, 32};
constexpr std::uint64_t kPatience = 60'000'000'000;  // ns

// What a GPU is held to, in times the bare loop: the simulated NIC bounds both.
constexpr double kMostRatio = 1.3;

// The time that kernels have taken, as they say.
class KernelClock final : public coro::Clock {
 public:
  coro::Time Now() const override { return now_; }
  bool WaitUntil(coro::Time) override { return false; }
  bool IsVirtual() const override { return false; }
  void Add(std::uint64_t nanoseconds) {
    now_ += coro::Duration(static_cast<std::int64_t>(nanoseconds));
  }

 private:
  coro::Time now_ = coro::Time(std::chrono::seconds(1));
};

// One way to post: two machines of its own, as a pair or, for the library, as ranks.
struct Way {
  std::string name;
  Kernel kernel = Kernel::kWriteLoop;
  Grid grid;
  bool signals = false;
  std::unique_ptr<SimPair> pair;
  std::unique_ptr<SimRanks> ranks;
  SharedMemory report;

  Launcher& launcher() const { return pair == nullptr ? ranks->launcher(0) : pair->launcher(0); }
  void Pause() const { pair == nullptr ? ranks->Pause() : pair->Pause(); }
  void Resume() const { pair == nullptr ? ranks->Resume() : pair->Resume(); }
};

absl::StatusOr<Way> OpenPorts(std::string name, unsigned threads, bool signals,
                              const sim::Profile& profile, gpu::Device& device) {
  Way way;
  way.name = std::move(name);
  way.kernel = Kernel::kPortPuts;
  way.grid.threads = threads;
  way.signals = signals;
  way.ranks = std::make_unique<SimRanks>(
      profile, /*seed=*/1, std::vector<gpu::Device*>{&device, &device},
      SimRanksOptions{.window_bytes = 4096, .host_memory = true, .timeout_ns = kPatience});
  RETURN_IF_ERROR(way.ranks->Open());
  ASSIGN_OR_RETURN(way.report, way.ranks->launcher(0).AllocateShared(sizeof(KernelReport)));
  way.ranks->Pause();
  return way;
}

absl::StatusOr<Way> OpenWay(std::string name, Kernel kernel, RingMode mode,
                            const sim::Profile& profile, gpu::Device& device) {
  Way way;
  way.name = std::move(name);
  way.kernel = kernel;
  if (kernel == Kernel::kTeamWrites)
    way.grid.threads = device.kind() == fabric::MemoryKind::kCuda ? kWarp : 2;
  way.pair = std::make_unique<SimPair>(profile, /*seed=*/1, device, device);
  RETURN_IF_ERROR(way.pair->Prepare(4096, BufferPlace::kHost, mode));
  ASSIGN_OR_RETURN(way.report, way.pair->Reports());
  RETURN_IF_ERROR(way.pair->Fill(0, 7));
  way.pair->Pause();
  return way;
}

absl::Status RunWay(Way& way, std::uint32_t batch, std::uint64_t operations, KernelClock& clock) {
  auto* const on_device = way.report.on_device<KernelReport>();
  way.Resume();
  absl::Status status;
  if (way.kernel == Kernel::kPortPuts) {
    const PortPutsArguments arguments{way.ranks->port(0),
                                      Sharing::kExclusive,
                                      way.signals,
                                      /*peer=*/1,
                                      kBytes,
                                      batch,
                                      operations,
                                      on_device};
    status = way.launcher().Launch(way.kernel, way.grid, &arguments);
  } else {
    const gpu::gda::Series series{way.pair->Write(0, kBytes), operations, 1, 0};
    const LoopArguments arguments{way.pair->channel(), series, batch, kPatience, on_device};
    status = way.launcher().Launch(way.kernel, way.grid, &arguments);
  }
  status.Update(way.launcher().Wait());
  way.Pause();
  RETURN_IF_ERROR(status);
  const KernelReport& report = *way.report.on_host<KernelReport>();
  if (report.outcome != Outcome::kOk || report.done != operations) {
    return absl::InternalError(absl::StrCat(way.name, ": ", OutcomeName(report.outcome), " after ",
                                            report.done, " of ", operations));
  }
  clock.Add(report.nanoseconds == 0 ? 1 : report.nanoseconds);
  return absl::OkStatus();
}

// Whether a goal applies: a put that blocks is one thread's, a batch is a warp's, and the bare loop does not signal.
bool HasGoal(const Way& way, std::uint32_t batch) {
  const bool one_thread = way.grid.threads == 1;
  if (one_thread != (batch == 1)) return false;
  if (way.kernel == Kernel::kPortPuts) return !way.signals;
  const Kernel best = one_thread ? Kernel::kWriteLoop : Kernel::kTeamWrites;
  return way.kernel == best && way.pair->channel().mode == RingMode::kMappedBell;
}

void AddGoal(const Way& way, std::uint32_t batch, bool on_gpu, double ratio, Report& report) {
  const std::string name = absl::StrCat(way.name, batch == 1 ? ", blocking" : ", batches of 32",
                                        ": times the bare loop");
  if (on_gpu) {
    report.AddGoal(AtMost(name, ratio, kMostRatio));
  } else {
    report.AddGoal({absl::StrCat(name, ", on a GPU"), "", "", Goal::State::kSkipped});
  }
}

absl::StatusOr<Report> Run(const Options& options, const std::function<void()>& tick) {
  ASSIGN_OR_RETURN(const apps::DeviceChoice choice,
                   apps::ChooseDevice(absl::GetFlag(FLAGS_device)));
  ASSIGN_OR_RETURN(const sim::Profile* const p5, sim::FindProfile("p5"));
  sim::Profile profile = *p5;
  // No limit: a batch of 32 is one doorbell, for the bare loop too.
  profile.device.max_tx_batch = 0;
  gpu::Device& device = *choice.device;
  std::vector<Way> ways;
  const auto open = [&](const char* name, Kernel kernel, RingMode mode) -> absl::Status {
    ASSIGN_OR_RETURN(Way way, OpenWay(name, kernel, mode, profile, device));
    ways.push_back(std::move(way));
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(open("bare loop", Kernel::kBareLoop, RingMode::kMappedBell));
  RETURN_IF_ERROR(open("mapped doorbell", Kernel::kWriteLoop, RingMode::kMappedBell));
  RETURN_IF_ERROR(open("a warp, mapped doorbell", Kernel::kTeamWrites, RingMode::kMappedBell));
  RETURN_IF_ERROR(open("doorbell record", Kernel::kWriteLoop, RingMode::kBellRecord));
  RETURN_IF_ERROR(open("proxy", Kernel::kWriteLoop, RingMode::kProxy));
  const unsigned warp = device.kind() == fabric::MemoryKind::kCuda ? kWarp : 2;
  for (const bool signals : {false, true}) {
    const std::string what = signals ? "port, put with signal" : "port, put";
    ASSIGN_OR_RETURN(Way one, OpenPorts(what, 1, signals, profile, device));
    ways.push_back(std::move(one));
    ASSIGN_OR_RETURN(Way many,
                     OpenPorts(absl::StrCat(what, ", a warp"), warp, signals, profile, device));
    ways.push_back(std::move(many));
  }
  KernelClock clock;
  std::vector<Case> cases;
  for (const std::uint32_t batch : kBatches) {
    for (Way& way : ways) {
      cases.push_back({absl::StrCat(way.name, " ", batch), batch,
                       [&way, batch, &clock](std::uint64_t operations) {
                         return RunWay(way, batch, operations, clock);
                       }});
    }
  }
  ASSIGN_OR_RETURN(const std::vector<bench::Series> series,
                   MeasurePaired(cases, options.paired, clock, tick));
  Report report("gda", {"way", "batch", "ns each", "quartiles", "times bare"});
  const bool on_gpu = device.kind() == fabric::MemoryKind::kCuda;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::size_t bare = i / ways.size() * ways.size();
    const Way& way = ways[i - bare];
    const Summary cost = Summarize(series[i].nanoseconds);
    const double ratio = Compare(series[i].nanoseconds, series[bare].nanoseconds).median;
    report.AddRow({Text(way.name), Count(cases[i].granule), Number(cost.median, 0),
                   Text(absl::StrCat(static_cast<std::int64_t>(cost.lower_quartile), " to ",
                                     static_cast<std::int64_t>(cost.upper_quartile))),
                   Number(ratio, 2)});
    const auto batch = static_cast<std::uint32_t>(cases[i].granule);
    if (HasGoal(way, batch)) AddGoal(way, batch, on_gpu, ratio, report);
  }
  report.AddNote(absl::StrCat("Writes of 64 B by one thread, or a warp of 32, of ", device.name(),
                              " (", device.description(),
                              "), data and rings in host memory; each batch is one doorbell, and "
                              "completed before the next. Batch 1 blocks."));
  return report;
}

std::size_t Ticks(const Options& options) { return options.paired.rounds * 18; }

}  // namespace
}  // namespace drydock::bench

int main(int argc, char** argv) {
  return drydock::bench::RunMain(
      argc, argv, "gda", "Prints what a write costs that a device posts by itself, in three ways.",
      drydock::bench::kRounds, drydock::bench::Ticks, drydock::bench::Run);
}
