// The replay program: see README.md in this folder.

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/flags/declare.h"
#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "drydock/apps/common/command_line.h"
#include "drydock/apps/common/output_file.h"
#include "drydock/apps/common/progress.h"
#include "drydock/apps/common/report/output_flags.h"
#include "drydock/apps/common/simulated_fabric.h"
#include "drydock/apps/common/trace_flags.h"
#include "drydock/apps/replay/report.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/steady_clock.h"
#include "drydock/sim/capture/capture.h"
#include "drydock/sim/capture/join.h"
#include "drydock/sim/capture/read_capture.h"
#include "drydock/sim/capture/replay.h"
#include "drydock/sim/capture/steer.h"
#include "drydock/sim/profile/profile.h"

ABSL_FLAG(std::uint64_t, seed, 1,
          "Everything random in the replay is drawn from this: the same seed gives the same one.");
ABSL_FLAG(std::string, profile, "small",
          "Machine that the simulator plays: one that `info --list` shows.");
ABSL_FLAG(std::string, provider, "",
          "On what it is replayed. efa-direct: the EFA device as it is. efa: the EFA provider's "
          "software protocol on top, which keeps the order of messages and takes any length. "
          "Without it: efa-direct for what was captured there, else efa.");
ABSL_FLAG(std::string, timing, "recorded",
          "recorded: nothing is done before its recorded time. fast: as soon as what it waited for "
          "is there.");
ABSL_FLAG(std::string, order, "recorded",
          "recorded: completions are held back until they come in the order in which they were "
          "read. free: they come as they come.");

ABSL_DECLARE_FLAG(std::string, trace);
ABSL_DECLARE_FLAG(std::string, trace_data);

namespace drydock::apps::replay {
namespace {

using sim::capture::Capture;
using sim::capture::Steered;
using sim::capture::SteerOptions;
using sim::capture::Timing;
using sim::capture::TraceFile;

const Usage kUsage = {
    "replay",
    "does again on simulated NICs what a trace shows, and compares the memory in the end: a "
    "problem "
    "from a cluster, on a laptop.",
    "FILE...    the traces of one run: one of each process",
    "  On the machines with the problem, in each process (--trace-data takes the payload along):\n"
    "  write --provider=tcp --trace=server.json --trace-data=64MiB --clients=1\n"
    "  write --provider=tcp --trace=client.json --trace-data=64MiB ADDRESS\n"
    "  Then anywhere:\n"
    "  replay server.json client.json               the same order, times and failures\n"
    "  replay server.json client.json --seed=2      another network under it\n"
    "  replay server.json client.json --order=free  completions as EFA would give them\n"
    "  replay server.json client.json --provider=efa-direct --timing=fast\n"
    "  replay server.json client.json --trace=replay.html   a page that shows the replay\n"
    "  write --trace=both.json --trace-data=64MiB && replay both.json   a simulated run: one file\n"
    "\nExit status: 0 the memory is the same, 1 it is different or cannot be compared, 2 bad "
    "input."};

absl::StatusOr<bool> IsWord(absl::string_view flag, const std::string& value, absl::string_view yes,
                            absl::string_view no) {
  if (value == yes || value == no) return value == yes;
  return absl::InvalidArgumentError(
      absl::StrCat("--", flag, "=", value, " does not exist: ", yes, " or ", no));
}

// The fabric of the replay: what --provider says, or where the capture comes from.
absl::StatusOr<SimulatedFabric> ChooseFabric(const Capture& capture) {
  const std::string name = absl::GetFlag(FLAGS_provider);
  if (name.empty()) {
    // Programs under efa-run drive the device's queue pairs.
    const bool direct = std::all_of(
        capture.backends.begin(), capture.backends.end(), [](const std::string& backend) {
          return (absl::StrContains(backend, "efa-direct") &&
                  !absl::StrContains(backend, "efa over")) ||
                 absl::StartsWith(backend, "libibverbs over simulated EFA");
        });
    return direct ? SimulatedFabric::kEfaDirect : SimulatedFabric::kEfa;
  }
  for (const SimulatedFabric fabric : SimulatedFabrics()) {
    if (name == NameOf(fabric)) return fabric;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--provider=", name, " is not simulated: efa-direct or efa"));
}

// What a fabric does not have at all.
absl::Status CheckFits(const Capture& capture, SimulatedFabric fabric) {
  if (fabric != SimulatedFabric::kEfaDirect) return absl::OkStatus();
  for (const sim::capture::Node& node : capture.nodes) {
    for (const sim::capture::Operation& operation : node.operations) {
      if (!sim::capture::IsTagged(operation.kind)) continue;
      return absl::InvalidArgumentError(
          "the capture has tagged messages, which efa-direct has not: take --provider=efa");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Capture> Load(const std::vector<std::string>& paths) {
  if (paths.empty()) {
    return absl::InvalidArgumentError("no trace is given: replay FILE... (see --help)");
  }
  std::vector<TraceFile> files;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(files.emplace_back(), sim::capture::LoadTraceFile(path));
  }
  ASSIGN_OR_RETURN(Capture capture, sim::capture::ReadCapture(files));
  RETURN_IF_ERROR(sim::capture::Join(capture));
  return capture;
}

// The same replay once more, observed: it was not known before which one is the last.
absl::Status Trace(const Capture& capture, const Steered& steered, SteerOptions options,
                   SimulatedFabric fabric, TraceRun& trace) {
  options.replay.plans = steered.plans;
  options.replay.watch = [&trace](sim::World& world) -> std::shared_ptr<void> {
    return trace.Watch(world, /*engine=*/nullptr);
  };
  options.replay.open = [&trace, fabric](sim::World& world, sim::Node& node) {
    return trace.Wrap(OpenSimulatedFabric(fabric, world, node), node.name(), world, fabric);
  };
  RETURN_IF_ERROR(sim::capture::Replay(capture, options.replay).status());
  return trace.Finish();
}

absl::StatusOr<int> Run(const std::vector<std::string>& paths) {
  ASSIGN_OR_RETURN(const OutputForm form, OutputFormFromFlags());
  SteerOptions options;
  Scene scene;
  scene.seed = options.replay.seed = absl::GetFlag(FLAGS_seed);
  ASSIGN_OR_RETURN(options.replay.profile, sim::FindProfile(absl::GetFlag(FLAGS_profile)));
  scene.profile = options.replay.profile->name;
  ASSIGN_OR_RETURN(scene.recorded_times,
                   IsWord("timing", absl::GetFlag(FLAGS_timing), "recorded", "fast"));
  ASSIGN_OR_RETURN(scene.keep_order,
                   IsWord("order", absl::GetFlag(FLAGS_order), "recorded", "free"));
  options.replay.timing = scene.recorded_times ? Timing::kRecorded : Timing::kFast;
  options.keep_order = scene.keep_order;
  ASSIGN_OR_RETURN(const Capture capture, Load(paths));
  ASSIGN_OR_RETURN(const SimulatedFabric fabric, ChooseFabric(capture));
  RETURN_IF_ERROR(CheckFits(capture, fabric));
  std::unique_ptr<TraceRun> trace;
  if (!absl::GetFlag(FLAGS_trace).empty() || !absl::GetFlag(FLAGS_trace_data).empty()) {
    RETURN_IF_ERROR(CheckSpares("trace", PathOfThisRank(absl::GetFlag(FLAGS_trace)), paths));
    RETURN_IF_ERROR(CheckSpares("trace-data", absl::GetFlag(FLAGS_trace_data), paths));
    ASSIGN_OR_RETURN(trace, TraceRun::FromFlags(kUsage.name, /*simulated=*/true, scene.seed));
  }
  const absl::string_view name = NameOf(fabric);
  scene.fabric = std::string(name.data(), name.size());
  options.replay.open = [fabric](sim::World& world, sim::Node& node) {
    return OpenSimulatedFabric(fabric, world, node);
  };
  coro::SteadyClock clock;
  Progress progress({.what = "runs", .total = options.attempts}, clock);
  options.attempt = [&](std::size_t attempt) { progress.Update(attempt - 1); };
  ASSIGN_OR_RETURN(const Steered steered, sim::capture::Steer(capture, options));
  progress.Hide();
  std::cout << (form == OutputForm::kJson  ? JsonReport(capture, steered, scene)
                : form == OutputForm::kCsv ? CsvReport(capture, steered)
                                           : TextReport(capture, steered, scene));
  std::cout.flush();
  if (trace != nullptr) RETURN_IF_ERROR(Trace(capture, steered, options, fabric, *trace));
  return steered.same_memory() ? kExitOk : kExitFailed;
}

}  // namespace
}  // namespace drydock::apps::replay

int main(int argc, char** argv) {
  using drydock::apps::replay::kUsage;
  const std::vector<std::string> paths = drydock::apps::ParseCommandLineOrExit(argc, argv, kUsage);
  const absl::StatusOr<int> code = drydock::apps::replay::Run(paths);
  return drydock::apps::EndWith(kUsage.name, code);
}
