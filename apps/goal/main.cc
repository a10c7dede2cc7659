// The goal program: see README.md in this folder.

#include <sys/resource.h>

#include <cstdint>
#include <iostream>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "drydock/apps/common/command_line.h"
#include "drydock/apps/common/output_file.h"
#include "drydock/apps/common/progress.h"
#include "drydock/apps/common/report/output_flags.h"
#include "drydock/apps/common/text_file.h"
#include "drydock/apps/common/units.h"
#include "drydock/apps/goal/patterns.h"
#include "drydock/apps/goal/player.h"
#include "drydock/apps/goal/recording.h"
#include "drydock/apps/goal/report.h"
#include "drydock/apps/goal/schedule.h"
#include "drydock/apps/goal/text.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/steady_clock.h"
#include "drydock/sim/capture/capture.h"
#include "drydock/sim/capture/join.h"
#include "drydock/sim/capture/read_capture.h"
#include "drydock/sim/profile/profile.h"

ABSL_FLAG(std::string, pattern, "",
          "Runs a collective instead of a file: ring, tree (allreduces), incast, alltoall.");
ABSL_FLAG(std::uint64_t, machines, 4, "Of --pattern: ranks, a machine each.");
ABSL_FLAG(std::uint64_t, nics, 1,
          "Of --pattern: NICs of each machine. A file names those that it uses.");
ABSL_FLAG(std::string, bytes, "1MiB",
          "Of --pattern: what each rank has reduced, or sends; to each other one for alltoall.");
ABSL_FLAG(std::string, write, "",
          "Writes the schedule to this file as GOAL, and runs nothing; -: to standard output.");
ABSL_FLAG(bool, flows, false,
          "Long messages travel as flows: a few events for each instead of one for each packet. "
          "What that does not show: docs/fidelity.md.");
ABSL_FLAG(std::uint64_t, seed, 1,
          "Everything random in the run is drawn from this: the same seed gives the same one.");
ABSL_FLAG(std::string, profile, "small",
          "Machine that the simulator plays: one that `info --list` shows.");

namespace drydock::apps::goal {
namespace {

const Usage kUsage = {
    "goal",
    "runs GOAL schedules, which LogGOPSim and ATLAHS use, on simulated NICs; makes them of "
    "recorded "
    "runs, and of collectives.",
    "FILE.goal                    runs a schedule\n"
    "TRACE.json...                runs what a trace shows: one file of each process\n"
    "--pattern=NAME [...]         runs a collective\n"
    "... --write=FILE.goal        any of them: writes it as GOAL instead",
    "  goal --pattern=ring --machines=8               an allreduce of 1 MiB by a ring\n"
    "  goal --pattern=tree --machines=1024 --nics=16 --profile=p5en --flows\n"
    "  goal --pattern=incast --write=incast.goal && goal incast.goal\n"
    "  write --trace=both.json && goal both.json      a recorded run, once more\n"
    "  goal both.json --write=run.goal                the same as GOAL: txt2bin of LogGOPSim reads "
    "it\n"
    "  goal run.goal --profile=p5 --json              on other NICs, for a script\n"
    "\nExit status: 0 the schedule ran to its end, 1 it did not (a receive has no message, or a "
    "message failed), 2 bad input."};

absl::Status BadInput(const std::string& why) { return absl::InvalidArgumentError(why); }

struct Input {
  Schedule schedule;
  std::string source;
};

absl::StatusOr<Input> FromPattern(const std::string& name, const sim::Profile& profile) {
  const std::uint64_t machines = absl::GetFlag(FLAGS_machines);
  const std::uint64_t nics = absl::GetFlag(FLAGS_nics);
  if (machines < 2 || machines > kMostRanks) {
    return BadInput(absl::StrCat("--machines=", machines, " is not between 2 and ", kMostRanks));
  }
  if (nics < 1 || nics > 256) {
    return BadInput(absl::StrCat("--nics=", nics, " is not between 1 and 256"));
  }
  // As text it may be for any machines.
  if (absl::GetFlag(FLAGS_write).empty()) RETURN_IF_ERROR(CheckMachines(machines, nics, profile));
  PatternOptions options{.ranks = static_cast<std::uint32_t>(machines),
                         .nics = static_cast<std::uint32_t>(nics)};
  const absl::StatusOr<std::uint64_t> bytes = ParseBytes(absl::GetFlag(FLAGS_bytes));
  if (!bytes.ok()) return BadInput(absl::StrCat("--bytes=", bytes.status().message()));
  options.bytes = *bytes;
  Input input{.source = absl::StrCat(name, " of ", FormatBytes(options.bytes))};
  ASSIGN_OR_RETURN(input.schedule, MakePattern(name, options));
  return input;
}

bool IsTrace(absl::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != absl::string_view::npos && text[first] == '{';
}

absl::StatusOr<Input> FromTraces(std::vector<sim::capture::TraceFile> files, std::string source) {
  ASSIGN_OR_RETURN(sim::capture::Capture capture, sim::capture::ReadCapture(files));
  RETURN_IF_ERROR(sim::capture::Join(capture));
  ASSIGN_OR_RETURN(Recording recording, ScheduleOf(capture));
  if (recording.left_out > 0) {
    absl::StrAppend(&source, ", without ", recording.left_out,
                    " operations that moved nothing or have no word in GOAL");
  }
  return Input{std::move(recording.schedule), std::move(source)};
}

absl::StatusOr<Input> FromFiles(const std::vector<std::string>& paths) {
  std::vector<sim::capture::TraceFile> files;
  for (const std::string& path : paths) {
    absl::StatusOr<std::string> text = ReadTextFile(path, kMostFileBytes);
    if (!text.ok()) {
      return absl::Status(text.status().code(), absl::StrCat(path, ": ", text.status().message()));
    }
    if (!IsTrace(*text)) {
      if (paths.size() > 1)
        return BadInput(absl::StrCat(path, " is no trace: one schedule is a file"));
      absl::StatusOr<Schedule> schedule = ReadGoal(*text);
      if (schedule.ok()) return Input{std::move(*schedule), path};
      return BadInput(absl::StrCat(path, ", ", schedule.status().message()));
    }
    files.push_back({path, std::move(*text)});
  }
  return FromTraces(std::move(files), absl::StrJoin(paths, ", "));
}

absl::StatusOr<Input> Load(const std::vector<std::string>& paths, const sim::Profile& profile) {
  const std::string pattern = absl::GetFlag(FLAGS_pattern);
  if (pattern.empty() == paths.empty()) {
    return BadInput("what to run: a file of GOAL, the traces of a run, or --pattern");
  }
  if (!pattern.empty()) return FromPattern(pattern, profile);
  RETURN_IF_ERROR(RefuseFlags({"machines", "nics", "bytes"}, "goes with --pattern only"));
  return FromFiles(paths);
}

// `read`: the files that the schedule was made of, which stay.
absl::StatusOr<int> Write(const Schedule& schedule, const std::string& path,
                          const std::vector<std::string>& read) {
  if (path == "-") {
    WriteGoal(schedule, std::cout);
    return kExitOk;
  }
  RETURN_IF_ERROR(CheckSpares("write", path, read));
  RETURN_IF_ERROR(WriteOutput("write", path, [&](std::ostream& out) { WriteGoal(schedule, out); }));
  return kExitOk;
}

// Of this process: what its processor worked, in the kernel too, and the most memory that it has had.
struct Spent {
  double seconds;
  std::uint64_t peak_bytes;
};

Spent SpentSoFar() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return {seconds(usage.ru_utime) + seconds(usage.ru_stime),
          static_cast<std::uint64_t>(usage.ru_maxrss) * 1024};
}

absl::StatusOr<int> Run(const std::vector<std::string>& paths) {
  ASSIGN_OR_RETURN(const OutputForm form, OutputFormFromFlags());
  ASSIGN_OR_RETURN(const sim::Profile* const profile,
                   sim::FindProfile(absl::GetFlag(FLAGS_profile)));
  ASSIGN_OR_RETURN(const Input input, Load(paths, *profile));
  if (!absl::GetFlag(FLAGS_write).empty()) {
    RETURN_IF_ERROR(RefuseFlags({"json", "csv", "flows", "seed"}, "is for a run: without --write"));
    return Write(input.schedule, absl::GetFlag(FLAGS_write), paths);
  }
  Scene scene{.source = input.source,
              .profile = profile->name,
              .seed = absl::GetFlag(FLAGS_seed),
              .nics = input.schedule.nics(),
              .flows = absl::GetFlag(FLAGS_flows)};
  coro::SteadyClock clock;
  Progress progress({.what = "operations", .total = input.schedule.ops().size()}, clock);
  PlayOptions options{.seed = scene.seed, .flows = scene.flows};
  options.progress = [&progress](std::uint64_t done) { progress.Update(done); };
  const double began = SpentSoFar().seconds;
  const absl::StatusOr<PlayResult> result = Play(input.schedule, *profile, options);
  progress.Hide();
  RETURN_IF_ERROR(result.status());
  const Spent spent = SpentSoFar();
  scene.seconds = spent.seconds - began;
  scene.peak_bytes = spent.peak_bytes;
  std::cout << Report(*result, scene, form) << std::flush;
  return kExitOk;
}

}  // namespace
}  // namespace drydock::apps::goal

int main(int argc, char** argv) {
  using drydock::apps::goal::kUsage;
  const std::vector<std::string> paths = drydock::apps::ParseCommandLineOrExit(argc, argv, kUsage);
  const absl::StatusOr<int> code = drydock::apps::goal::Run(paths);
  return drydock::apps::EndWith(kUsage.name, code);
}
