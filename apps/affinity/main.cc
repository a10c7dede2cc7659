// The affinity program: see README.md in this folder.

#include <cstdint>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "drydock/apps/affinity/report.h"
#include "drydock/apps/affinity/runs.h"
#include "drydock/apps/common/backend_choice.h"
#include "drydock/apps/common/command_line.h"
#include "drydock/apps/common/counted_main.h"
#include "drydock/apps/common/machine_choice.h"
#include "drydock/apps/common/metrics_run.h"
#include "drydock/apps/common/progress.h"
#include "drydock/apps/common/report/output_flags.h"
#include "drydock/apps/common/report/svg_flag.h"
#include "drydock/apps/common/session/either_world.h"
#include "drydock/apps/common/units.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/steady_clock.h"
#include "drydock/fabric/fabric.h"
#include "drydock/sim/topology/topology_of.h"

ABSL_FLAG(std::string, policy, "all",
          "Where the thread and the memory of each NIC are. near: on the NIC's NUMA node, the "
          "thread on the NIC's share of its CPUs. far: the same on another node. none: nothing "
          "is pinned. all: one after the other, for comparison.");
ABSL_FLAG(std::uint64_t, nics, 0,
          "How many NICs write at the same time, spread over NUMA nodes and switches. 0: 8 of EFA, "
          "simulated or real, or all if there are fewer, and one of other providers. --nic names a "
          "single one.");
ABSL_FLAG(drydock::apps::ByteSize, page_size, {262144}, "Bytes of a page, 1 to 16777216.");
ABSL_FLAG(std::uint64_t, pages, 0,
          "Pages that each NIC writes; 0: 64 on the simulator, 2000 for real.");
ABSL_FLAG(std::uint64_t, window, 8, "Pages of each NIC that are under way, 1 to 256.");

namespace drydock::apps::affinity {
namespace {

using gpu::topology::Machine;

const Usage kUsage = {
    .name = "affinity",
    .summary =
        "writes pages with the threads and the memory of each NIC near it, far from it, or "
        "wherever they fall, and shows the difference: simulated, unless --fabric=libfabric or a "
        "provider is named.",
    .synopsis =
        "[--policy=near|far|none|all] [--profile=NAME] [--nics=N]   a simulated machine\n"
        "--fabric=libfabric [--provider=tcp|shm|efa] [...]          this machine, measured",
    .examples =
        "  affinity                                  a p5.48xlarge, simulated: three policies\n"
        "  affinity --nics=32                        all its NICs: four share a switch's port\n"
        "  affinity --profile=p6-b200 --nics=2       one fast NIC on each NUMA node\n"
        "  affinity --policy=far --nic=rdmap79s0     one NIC under one policy\n"
        "  affinity --fabric=libfabric               the EFA NICs of this machine, measured\n"
        "  affinity --provider=tcp --json            a software NIC of this machine, for a script\n"
        "\nWhat to look at: the link between two NUMA nodes carries less than the NICs of one "
        "node\ncan; what crosses it also takes longer. gpuloc shows which CPUs are near which "
        "NIC.\n\nExit status: 0 measured, 1 it failed on the way, 2 bad input."};

constexpr std::uint64_t kDefaultEfaNics = 8;
constexpr std::uint64_t kMostPageBytes = 16 << 20;
constexpr std::uint64_t kMostWindow = 256;
constexpr std::uint64_t kMostPages = 10'000'000;
constexpr std::uint64_t kMostBytesUnderWay = 64 << 20;  // of a NIC: it has twice as much memory
constexpr std::uint64_t kSimulatedPages = 64;
constexpr std::uint64_t kMeasuredPages = 2000;
constexpr std::uint64_t kMeasuredSmallWrites = 1000;

absl::Status BadInput(const std::string& why) { return absl::InvalidArgumentError(why); }

absl::StatusOr<Load> LoadFromFlags(bool simulated) {
  Load load;
  load.page_bytes = absl::GetFlag(FLAGS_page_size).bytes;
  load.window = absl::GetFlag(FLAGS_window);
  load.pages = absl::GetFlag(FLAGS_pages);
  if (load.page_bytes < 1 || load.page_bytes > kMostPageBytes) {
    return BadInput(
        absl::StrCat("--page-size=", load.page_bytes, " is not between 1 and ", kMostPageBytes));
  }
  if (load.window < 1 || load.window > kMostWindow) {
    return BadInput(absl::StrCat("--window=", load.window, " is not between 1 and ", kMostWindow));
  }
  if (load.pages > kMostPages) {
    return BadInput(absl::StrCat("--pages=", load.pages, " is more than ", kMostPages));
  }
  if (load.window * load.page_bytes > kMostBytesUnderWay) {
    return BadInput(absl::StrCat("--window pages of --page-size are ",
                                 FormatBytes(load.window * load.page_bytes), " under way, at most ",
                                 FormatBytes(kMostBytesUnderWay), " may be"));
  }
  if (load.pages == 0) load.pages = simulated ? kSimulatedPages : kMeasuredPages;
  if (!simulated) load.small = kMeasuredSmallWrites;
  return load;
}

absl::StatusOr<std::vector<std::size_t>> NicsFromFlags(const Machine& machine, bool efa) {
  const std::string name = BackendOptionsFromFlags().nic;
  std::uint64_t count = absl::GetFlag(FLAGS_nics);
  if (name.empty()) {
    if (count > machine.nics.size()) {
      return BadInput(absl::StrCat("--nics=", count, ": the machine has ",
                                   FormatCount(machine.nics.size(), "NIC")));
    }
    if (count == 0) count = efa ? kDefaultEfaNics : 1;
    return ChooseNics(machine, count);
  }
  if (count > 1) return BadInput("--nic names one NIC, --nics asks for several");
  for (std::size_t i = 0; i < machine.nics.size(); ++i) {
    if (machine.nics[i].name == name) return std::vector<std::size_t>{i};
  }
  return BadInput(absl::StrCat("--nic=", name, " does not exist: the first one is ",
                               machine.nics.front().name));
}

constexpr char kOneNode[] =
    "this machine has one NUMA node: far is near, and the policies cannot differ";

// On one node, far is not run: it would be near by another name.
absl::Status LeaveOutFar(const Machine& machine, std::vector<Policy>& policies, Report& report) {
  if (machine.numa_nodes.size() > 1) return absl::OkStatus();
  std::erase(policies, Policy::kFar);
  if (policies.empty()) return BadInput(absl::StrCat("--policy=far: ", kOneNode));
  report.note = absl::StrCat(kOneNode, ", but for the CPUs that near pins to");
  return absl::OkStatus();
}

absl::StatusOr<Report> Simulate(const ChosenWorld& world, std::vector<Policy> policies,
                                MetricsRun* metrics) {
  const BackendOptions& backend = world.backend;
  const BackendChoice& choice = world.choice;
  if (!TopologyFromFlags().empty()) {
    return BadInput("--topology is for real NICs: that of a simulated machine is its profile's");
  }
  const Machine machine = sim::TopologyOf(*choice.profile);
  Report report;
  report.simulated = true;
  report.fabric = absl::StrCat("simulated ", std::string(NameOf(choice.simulated_fabric)), ", two ",
                               machine.name, " in this process, seed ", backend.seed);
  report.profile = choice.profile->name;
  report.link_gbytes_per_s = choice.profile->numa_link_gbytes_per_s;
  report.nics = machine.nics.size();
  report.numa_nodes = machine.numa_nodes.size();
  ASSIGN_OR_RETURN(report.load, LoadFromFlags(true));
  ASSIGN_OR_RETURN(const std::vector<std::size_t> nics, NicsFromFlags(machine, true));
  RETURN_IF_ERROR(LeaveOutFar(machine, policies, report));
  SimulatedRun run;
  run.metrics = metrics;
  run.profile = choice.profile;
  run.fabric = choice.simulated_fabric;
  run.seed = backend.seed;
  run.load = report.load;
  const coro::SteadyClock clock;
  Progress progress({.what = "runs", .total = policies.size() * (1 + nics.size())}, clock);
  std::uint64_t done = 0;
  run.tick = [&progress, &done] { progress.Update(++done); };
  run.trace = &world.trace;
  for (const Policy policy : policies) {
    std::vector<Seat> seats = PlanSeats(machine, nics, policy);
    if (policy == Policy::kNone) SeatAnywhere(machine, backend.seed, seats);
    run.label = std::string(NameOf(policy));
    ASSIGN_OR_RETURN(std::vector<SeatResult> results, RunSimulated(run, seats));
    report.policies.push_back({policy, std::move(results)});
  }
  return report;
}

absl::StatusOr<Report> Measure(const ChosenWorld& world, std::vector<Policy> policies,
                               MetricsRun* metrics) {
  const fabric::Fabric& fabric = *world.choice.fabric;
  ASSIGN_OR_RETURN(const MachineChoice here, ChooseMachine(TopologyFromFlags()));
  const Machine machine = WithNics(here.machine, fabric.nics());
  Report report;
  report.fabric =
      absl::StrCat(std::string(fabric.description()), ", both ends of each transfer in one thread");
  report.nics = machine.nics.size();
  report.numa_nodes = machine.numa_nodes.size();
  ASSIGN_OR_RETURN(report.load, LoadFromFlags(false));
  const bool efa = fabric.nics().front().address_format == "FI_ADDR_EFA";
  ASSIGN_OR_RETURN(const std::vector<std::size_t> nics, NicsFromFlags(machine, efa));
  RETURN_IF_ERROR(LeaveOutFar(machine, policies, report));
  MeasuredRun run;
  run.metrics = metrics;
  run.backend = world.backend;
  run.backend.fabric = "libfabric";
  run.bind_memory = machine.numa_nodes.size() > 1;
  run.load = report.load;
  const coro::SteadyClock clock;
  Progress progress({.what = "policies", .total = policies.size()}, clock);
  run.trace = &world.trace;
  for (const Policy policy : policies) {
    progress.Update(report.policies.size());
    const std::vector<Seat> seats = PlanSeats(machine, nics, policy);
    ASSIGN_OR_RETURN(std::vector<SeatResult> results, RunMeasured(run, seats));
    report.policies.push_back({policy, std::move(results)});
  }
  return report;
}

absl::StatusOr<int> Run(const std::vector<std::string>& positional, MetricsRun* metrics) {
  if (!positional.empty()) {
    return BadInput(absl::StrCat("unexpected argument '", positional.front(), "'"));
  }
  ASSIGN_OR_RETURN(const OutputForm form, OutputFormFromFlags());
  RETURN_IF_ERROR(CheckSvg());
  ASSIGN_OR_RETURN(const std::vector<Policy> policies, ParsePolicies(absl::GetFlag(FLAGS_policy)));
  ASSIGN_OR_RETURN(
      const Report report,
      RunObserved<Report>(
          kUsage.name, SimulatedUnlessNamed("p5"),
          [&](const ChosenWorld& world) { return Simulate(world, policies, metrics); },
          [&](const ChosenWorld& world) { return Measure(world, policies, metrics); }));
  std::cout << (form == OutputForm::kJson  ? FormatJson(report)
                : form == OutputForm::kCsv ? FormatCsv(report)
                                           : FormatText(report));
  RETURN_IF_ERROR(DrawIfAsked([&report] { return ToSvg(report); }));
  return kExitOk;
}

}  // namespace
}  // namespace drydock::apps::affinity

int main(int argc, char** argv) {
  return drydock::apps::CountedMain(argc, argv, drydock::apps::affinity::kUsage,
                                    drydock::apps::affinity::Run);
}
