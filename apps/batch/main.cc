// The batch program: see README.md in this folder.

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "drydock/apps/batch/launched_pairs.h"
#include "drydock/apps/batch/load.h"
#include "drydock/apps/batch/report.h"
#include "drydock/apps/batch/simulated_run.h"
#include "drydock/apps/batch/steps.h"
#include "drydock/apps/batch/two_processes.h"
#include "drydock/apps/common/backend_choice.h"
#include "drydock/apps/common/command_line.h"
#include "drydock/apps/common/counted_main.h"
#include "drydock/apps/common/metrics_run.h"
#include "drydock/apps/common/nic_choice.h"
#include "drydock/apps/common/ranks/launch.h"
#include "drydock/apps/common/report/output_flags.h"
#include "drydock/apps/common/report/svg_flag.h"
#include "drydock/apps/common/session/either_world.h"
#include "drydock/apps/common/units.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/async/transfer/immediate.h"

ABSL_FLAG(std::uint64_t, gpus, 0,
          "GPUs whose memory is moved; 0: all of a simulated machine, or 1.");
ABSL_FLAG(std::uint64_t, nics_per_gpu, 0,
          "NICs of each GPU; 0: all that it has on a simulated machine or with EFA, otherwise 2: "
          "endpoints that share one software NIC.");
ABSL_FLAG(std::string, page_size, "64KiB", "Bytes of a page: 4096, 64KiB, 1MiB.");
ABSL_FLAG(std::uint64_t, pages, 0,
          "Pages for each NIC; 0: 300 simulated (1000 or 32,000 with --steps), 5000 for real.");
ABSL_FLAG(std::uint64_t, window, 128, "Pages of a NIC under way; less where its queues are short.");
ABSL_FLAG(std::uint64_t, burst, 16, "Pages posted with one doorbell, 1 to 64.");
ABSL_FLAG(std::string, policy, "round-robin",
          "Which of a GPU's NICs a page takes: round-robin, split, by-peer, by-bytes, pinned, "
          "near-first.");
ABSL_FLAG(
    std::int64_t, threads, -1,
    "CPU threads that drive the NICs, each an equal share; -1: one for each GPU. For real, 0: "
    "the program's own thread drives all.");
ABSL_FLAG(bool, pin, true, "Threads are pinned to the NUMA node of their NICs.");
ABSL_FLAG(bool, shard, true, "Simulated threads share no state.");
ABSL_FLAG(bool, lazy, true, "Simulated posts do not look for completions.");
ABSL_FLAG(bool, warm_up, true, "Make every connection before the clock starts.");
ABSL_FLAG(double, timeout, 60, "Seconds that a page, and a run, may take (of simulated time).");
namespace {
constexpr char kListen[] = "127.0.0.1:0";
}
ABSL_FLAG(std::string, listen, kListen,
          "The TCP address where a receiver waits for its sender; port 0: any free port.");
ABSL_FLAG(bool, steps, false,
          "Simulate the published steps from one thread to the full rate, and print both.");

namespace drydock::apps::batch {
namespace {

const Usage kUsage = {
    .name = "batch",
    .summary =
        "writes pages from the memory of GPUs by all of their NICs, and shows what each NIC "
        "did: simulated, unless --fabric=libfabric or a provider is named.",
    .synopsis =
        "[--profile=NAME] [--gpus=N] [--page-size=N] [--window=N] [...]   two simulated machines\n"
        "--steps                                       the published staircase, simulated\n"
        "--provider=tcp|efa-direct [--listen=HOST:PORT]   a receiver: prints its address\n"
        "--provider=tcp|efa-direct HOST:PORT [...]        a sender to it\n"
        "--provider=tcp|efa-direct [...]    started by srun --mpi=pmix, or by mpirun: pairs of "
        "ranks",
    .examples =
        "  batch                                      all 32 NICs of a p5.48xlarge\n"
        "  batch --gpus=1 --page-size=16KiB --window=64\n"
        "  batch --threads=1 --burst=1 --nolazy       what one thread gets out of them\n"
        "  batch --steps --svg=steps.svg              287 to 3108 Gbit/s, and why\n"
        "  batch --profile=p5en --svg=nics.svg        a picture of every NIC, and over time\n"
        "  batch --provider=tcp &                     prints: address   127.0.0.1:40123\n"
        "  batch --provider=tcp 127.0.0.1:40123 --nics-per-gpu=4\n"
        "\nwhatif predicts the same without moving a byte.\n"
        "Exit status: 0 all data is correct, 1 it is not, or the run failed, 2 bad input."};

constexpr std::uint64_t kSimulatedPages = 300;
constexpr std::uint64_t kMeasuredPages = 5000;
constexpr std::uint64_t kMostPages = 100'000'000;
constexpr std::uint64_t kMostPageBytes = 1 << 30;

absl::Status BadInput(const std::string& why) { return absl::InvalidArgumentError(why); }

absl::Status CheckRange(const char* flag, std::uint64_t value, std::uint64_t least,
                        std::uint64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return BadInput(absl::StrCat("--", flag, "=", value, " is not between ", least, " and ", most));
}

// Everything but the sizes that depend on where it runs.
absl::StatusOr<Load> LoadFromFlags() {
  Load load;
  const absl::StatusOr<std::uint64_t> bytes = ParseBytes(absl::GetFlag(FLAGS_page_size));
  if (!bytes.ok()) return BadInput(absl::StrCat("--page-size=", bytes.status().message()));
  load.page_bytes = *bytes;
  load.pages = absl::GetFlag(FLAGS_pages);
  load.window = absl::GetFlag(FLAGS_window);
  load.burst = absl::GetFlag(FLAGS_burst);
  ASSIGN_OR_RETURN(load.policy, fabric::async::transfer::ParsePolicy(absl::GetFlag(FLAGS_policy)));
  load.pin = absl::GetFlag(FLAGS_pin);
  load.sharded = absl::GetFlag(FLAGS_shard);
  load.lazy = absl::GetFlag(FLAGS_lazy);
  load.warm_up = absl::GetFlag(FLAGS_warm_up);
  load.gpus = absl::GetFlag(FLAGS_gpus);
  load.nics_per_gpu = absl::GetFlag(FLAGS_nics_per_gpu);
  ASSIGN_OR_RETURN(load.timeout, ParseTimeout(absl::GetFlag(FLAGS_timeout)));
  RETURN_IF_ERROR(CheckRange("page-size", load.page_bytes, 1, kMostPageBytes));
  RETURN_IF_ERROR(CheckRange("pages", load.pages, 0, kMostPages));
  RETURN_IF_ERROR(CheckRange("window", load.window, 1, 32768));
  RETURN_IF_ERROR(CheckRange("burst", load.burst, 1, 64));
  return load;
}

// Fills in the sizes that were left at 0, and checks all of them.
absl::Status Complete(Load& load, std::size_t gpus, std::size_t nics_per_gpu, std::uint64_t pages,
                      bool simulated) {
  if (load.gpus == 0) load.gpus = gpus;
  if (load.nics_per_gpu == 0) load.nics_per_gpu = nics_per_gpu;
  if (load.pages == 0) load.pages = pages;
  RETURN_IF_ERROR(CheckRange("gpus", load.gpus, 1, 64));
  RETURN_IF_ERROR(
      CheckRange("nics-per-gpu", load.nics_per_gpu, 1, fabric::async::transfer::kMostNics));
  const std::int64_t threads = absl::GetFlag(FLAGS_threads);
  if (threads < -1 || threads > static_cast<std::int64_t>(load.nics()) ||
      (simulated && threads == 0)) {
    return BadInput(absl::StrCat("--threads=", threads, " is not between ", simulated ? 1 : 0,
                                 " and the number of NICs, ", load.nics()));
  }
  load.threads = threads < 0 ? load.gpus : static_cast<std::size_t>(threads);
  if (PagesOfTransfer(load) > fabric::async::transfer::kMostPages) {
    return BadInput(absl::StrCat("--pages=", load.pages, " is more than can be numbered"));
  }
  return absl::OkStatus();
}

OutputForm FormFromFlags() { return OutputFormFromFlags().value_or(OutputForm::kText); }

// Prints a report, and draws it. Returns the exit status.
template <typename Printed>
absl::StatusOr<int> Deliver(const Printed& report, bool correct) {
  std::cout << Render(report, FormFromFlags());
  RETURN_IF_ERROR(DrawIfAsked([&report] { return ToSvg(report); }));
  return correct ? kExitOk : kExitFailed;
}

absl::StatusOr<int> Simulate(const ChosenWorld& world, const std::vector<std::string>& positional,
                             MetricsRun* metrics) {
  const BackendChoice& choice = world.choice;
  if (!positional.empty()) {
    return BadInput(absl::StrCat("unexpected argument '", positional.front(),
                                 "': both simulated machines are in this process"));
  }
  if (choice.simulated_fabric != SimulatedFabric::kEfaDirect) {
    return BadInput("--provider=efa: simulated threads drive the device itself, efa-direct");
  }
  SimulatedRun run;
  run.profile = choice.profile;
  run.seed = world.backend.seed;
  run.progress = true;
  run.metrics = metrics;
  run.trace = &world.trace;
  const std::string where = absl::StrCat("simulated efa-direct, two ", choice.profile->name,
                                         " in this process, seed ", world.backend.seed);
  ASSIGN_OR_RETURN(Load load, LoadFromFlags());
  RETURN_IF_ERROR(
      RefuseFlags({"nic"}, "is for real NICs: a simulated GPU has those of its switch"));
  RETURN_IF_ERROR(RefuseFlags({"listen"}, "is for real NICs: here both ends are in this process"));
  if (absl::GetFlag(FLAGS_steps)) {
    // The loads are the published ones.
    RETURN_IF_ERROR(RefuseFlags({"gpus", "nics-per-gpu", "page-size", "window", "burst", "policy",
                                 "threads", "pin", "shard", "lazy", "warm-up", "timeout"},
                                "is for one load: without --steps"));
    ASSIGN_OR_RETURN(const std::vector<Step> steps, RunSteps(run, load.pages));
    return Deliver(StepReport{where, steps}, true);
  }
  RETURN_IF_ERROR(Complete(load, GpuCount(*choice.profile), NicsPerGpu(*choice.profile),
                           kSimulatedPages, true));
  Report report;
  report.where = where;
  report.simulated = true;
  report.load = load;
  report.line_gbps = choice.profile->link_gbps;
  ASSIGN_OR_RETURN(report.result, RunSimulated(run, load));
  return Deliver(report, report.result.correct);
}

absl::StatusOr<int> Receive(const TwoProcessRun& run, const coro::TcpAddress& at,
                            const Load& load) {
  RETURN_IF_ERROR(RunReceiver(run, at, load));
  if (FormFromFlags() == OutputForm::kText) std::cout << "Data is correct" << std::endl;
  return kExitOk;
}

absl::StatusOr<int> Send(const BackendChoice& choice, const TwoProcessRun& run,
                         const FindReceiver& find_receiver, const Load& load, bool is_launched) {
  const fabric::NicInfo& nic = choice.fabric->nics()[run.first_nic];
  std::string to;
  Report report;
  report.load = load;
  report.one_line = is_launched;
  // A software NIC has no line.
  report.line_gbps = nic.address_format == "FI_ADDR_EFA" ? nic.link_gbps : 0;
  const auto find = [&]() -> absl::StatusOr<coro::TcpAddress> {
    ASSIGN_OR_RETURN(const coro::TcpAddress at, find_receiver());
    to = at.ToString();
    return at;
  };
  ASSIGN_OR_RETURN(report.result, RunSender(run, find, load));
  report.where = absl::StrCat(std::string(choice.fabric->description()), ", to ", to);
  return Deliver(report, report.result.correct);
}

// One rank of a launcher: a receiver, or the sender to the rank before it.
absl::StatusOr<int> RunLaunched(const BackendChoice& choice, TwoProcessRun run, const Load& load,
                                LaunchedPairs& pairs) {
  run.log("pair", pairs.Describe());
  if (!pairs.receives()) {
    return Send(
        choice, run, [&] { return pairs.FindReceiver(); }, load, true);
  }
  run.announce = [&](const coro::TcpAddress& at) { return pairs.Announce(at); };
  return Receive(run, coro::TcpAddress::Any(0), load);
}

// The pairs of the launcher that started this process; null if no launcher did.
absl::StatusOr<std::unique_ptr<LaunchedPairs>> FindPairs() {
  const std::optional<Launch> launch = FindLaunch();
  if (!launch.has_value()) return nullptr;
  if (absl::GetFlag(FLAGS_listen) != kListen) {
    return BadInput("--listen is for processes that nobody started together");
  }
  RETURN_IF_ERROR(CheckOneTable(launch->size / 2, "senders"));
  ASSIGN_OR_RETURN(const coro::Duration timeout, ParseTimeout(absl::GetFlag(FLAGS_timeout)));
  return LaunchedPairs::Join(*launch, timeout);
}

// `pairs`: null where nobody started this process together with others.
absl::StatusOr<int> RunProcess(const ChosenWorld& world, const std::vector<std::string>& positional,
                               MetricsRun* metrics, LaunchedPairs* pairs) {
  BackendChoice& choice = world.choice;
  if (metrics != nullptr) choice.fabric = metrics->Watch(std::move(choice.fabric));
  ASSIGN_OR_RETURN(const std::size_t first_nic, FindNic(*choice.fabric, world.backend.nic));
  const bool efa = choice.fabric->nics()[first_nic].address_format == "FI_ADDR_EFA";
  ASSIGN_OR_RETURN(Load load, LoadFromFlags());
  RETURN_IF_ERROR(RefuseFlags({"shard", "lazy"}, "is for simulated threads: without --provider"));
  RETURN_IF_ERROR(Complete(load, 1, efa ? choice.fabric->nics().size() : 2, kMeasuredPages, false));
  const bool receives = pairs == nullptr ? positional.empty() : pairs->receives();
  choice.fabric = world.trace.Wrap(std::move(choice.fabric), receives ? "receiver" : "sender");
  TwoProcessRun run;
  run.fabric = choice.fabric.get();
  run.seed = world.backend.seed;
  run.first_nic = first_nic;
  run.progress = true;
  run.log = [speaks = FormFromFlags() == OutputForm::kText](absl::string_view label,
                                                            absl::string_view text) {
    if (speaks) std::cout << absl::StrFormat("%-10s %s", label, text) << std::endl;
  };
  if (pairs != nullptr) return RunLaunched(choice, run, load, *pairs);
  if (positional.empty()) {
    RETURN_IF_ERROR(
        RefuseFlags({"json", "csv", "svg"}, "is for the sender's result: give an address"));
    RETURN_IF_ERROR(RefuseFlags({"page-size", "pages", "window", "burst", "policy", "warm-up"},
                                "is for the sender, which tells the receiver: give an address"));
    ASSIGN_OR_RETURN(const coro::TcpAddress at,
                     coro::TcpAddress::Resolve(absl::GetFlag(FLAGS_listen)));
    return Receive(run, at, load);
  }
  RETURN_IF_ERROR(RefuseFlags({"listen"}, "is for a receiver, which takes no address"));
  ASSIGN_OR_RETURN(const coro::TcpAddress to, coro::TcpAddress::Resolve(positional.front()));
  return Send(
      choice, run, [&to] { return to; }, load, false);
}

absl::StatusOr<int> RunForReal(const ChosenWorld& world, const std::vector<std::string>& positional,
                               MetricsRun* metrics) {
  if (absl::GetFlag(FLAGS_steps)) return BadInput("--steps are simulated: without --provider");
  std::unique_ptr<LaunchedPairs> pairs;
  if (positional.empty()) {
    ASSIGN_OR_RETURN(pairs, FindPairs());
  }
  const absl::StatusOr<int> result = RunProcess(world, positional, metrics, pairs.get());
  if (result.ok() || pairs == nullptr) return result;
  return pairs->GiveUp(result.status());
}

absl::StatusOr<int> Run(const std::vector<std::string>& positional, MetricsRun* metrics) {
  if (positional.size() > 1) {
    return BadInput(absl::StrCat("unexpected argument '", positional[1], "'"));
  }
  RETURN_IF_ERROR(OutputFormFromFlags().status());
  RETURN_IF_ERROR(CheckSvg());
  return RunObserved<int>(
      kUsage.name, SimulatedUnlessNamed("p5"),
      [&](const ChosenWorld& world) { return Simulate(world, positional, metrics); },
      [&](const ChosenWorld& world) { return RunForReal(world, positional, metrics); });
}

}  // namespace
}  // namespace drydock::apps::batch

int main(int argc, char** argv) {
  return drydock::apps::CountedMain(argc, argv, drydock::apps::batch::kUsage,
                                    drydock::apps::batch::Run);
}
