#include "drydock/apps/efa_run/capsules.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "drydock/apps/common/output_file.h"
#include "drydock/apps/common/program_command.h"
#include "drydock/apps/common/units.h"
#include "drydock/apps/efa_run/say.h"
#include "drydock/apps/efa_run/start.h"
#include "drydock/apps/explore/capsule_commands.h"
#include "drydock/apps/explore/story_picture.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/faults/plan_json.h"
#include "drydock/sim/explore/capsule.h"
#include "drydock/sim/explore/capsule_json.h"
#include "drydock/sim/explore/replay.h"
#include "drydock/sim/explore/shrink.h"
#include "drydock/sim/explore/subject.h"
#include "drydock/sim/verbs/seed_runs.h"
#include "drydock/sim/verbs/settings.h"
#include "drydock/sim/virtual_time/virtual_time.h"

namespace drydock::apps {
namespace {

using sim::explore::Capsule;
using sim::explore::RunSpec;
using sim::explore::Subject;
using sim::explore::TracedRun;
using sim::verbs::EndedRun;

Subject SubjectOf(const Request& request) {
  sim::explore::Program program;
  program.words = request.program;
  program.nics = request.settings.nics;
  program.findings = std::getenv(sim::verbs::kFindingsVariable);
  program.delays = request.settings.delays;
  program.topology = request.topology;
  program.sysfs = request.sysfs;
  return {.name = BaseName(request.program[0]),
          .profile = request.settings.profile,
          .parameters = {},
          .program = std::move(program),
          .run = {}};
}

// The program's process knows nothing of what the user has set for other runs.
absl::StatusOr<Request> RequestOf(const Capsule& capsule, const Request& asked) {
  for (const char* variable :
       {sim::verbs::kFabricVariable, sim::verbs::kFaultsVariable, sim::verbs::kTraceVariable,
        sim::verbs::kZoneVariable, sim::verbs::kFindingsFileVariable, sim::verbs::kNetworkVariable,
        sim::verbs::kKeyVariable, sim::verbs::kDigestVariable}) {
    unsetenv(variable);
  }
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(capsule.run.limit);
  setenv(sim::verbs::kProfileVariable, capsule.profile.c_str(), 1);
  setenv(sim::verbs::kNicsVariable, absl::StrCat(capsule.program->nics).c_str(), 1);
  setenv(sim::verbs::kDelaysVariable, capsule.program->delays ? "on" : "off", 1);
  setenv(sim::verbs::kSeedVariable, absl::StrCat(capsule.run.seed).c_str(), 1);
  setenv(sim::kLimitVariable, absl::StrCat(seconds.count()).c_str(), 1);
  setenv(sim::verbs::kFindingsVariable, capsule.program->findings.c_str(), 1);
  Request request;
  request.patience = asked.patience;
  ASSIGN_OR_RETURN(request.settings, SettingsOfEnvironment());
  request.quiet = true;
  request.topology = capsule.program->topology;
  request.sysfs = capsule.program->sysfs;
  request.is_virtual = true;
  request.program = capsule.program->words;
  request.self = asked.self;
  return request;
}

// A capsule of a program, and how to run that: once in `run`, of which `recorded` and `ended` are
// left.
struct LoadedProgram {
  Capsule capsule;
  Request request;
  std::chrono::milliseconds patience{};            // in real time, for one run
  std::shared_ptr<RecordedRun> recorded;           // of the last run
  EndedRun ended;                                  // the same
  std::optional<std::chrono::milliseconds> first;  // how long the first attempt took

  absl::StatusOr<TracedRun> Run(const RunSpec& spec) {
    ASSIGN_OR_RETURN(recorded, RecordedRun::Prepare(spec));
    ASSIGN_OR_RETURN(ended,
                     sim::verbs::RunAlone(RecordedRun::ProcessOf(recorded, request), patience));
    if (!ended.was_run) {
      absl::string_view why = absl::StripAsciiWhitespace(ended.output);
      absl::ConsumePrefix(&why, "efa-run: ");
      return absl::UnavailableError(why);
    }
    return RecordedRun::ResultOf(recorded, ended);
  }

  // For the shrinker: what a process cannot be told of fails in no way. Nor does a run that is not
  // over after much more time than the first one took, unless that is how the capsule's fails: a
  // machine may be busy, and a hang is what the program's own clock shows.
  absl::StatusOr<TracedRun> Attempt(const RunSpec& spec) {
    const auto began = std::chrono::steady_clock::now();
    absl::StatusOr<TracedRun> run = Run(spec);
    const auto nothing = [] { return TracedRun{{}, sim::NewTrace()}; };
    if (run.status().code() == absl::StatusCode::kInvalidArgument) return nothing();
    RETURN_IF_ERROR(run.status());
    const bool is_unfinished = IsUnfinished(run->result);
    const bool was_unfinished = IsUnfinished(capsule.result);
    if (!first.has_value() && is_unfinished && !was_unfinished) {
      return absl::DeadlineExceededError(absl::StrCat("the capsule's run is not over after ",
                                                      request.patience.count(), " s (--patience)"));
    }
    const std::chrono::milliseconds took =
        std::chrono::ceil<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
    if (!first.has_value()) {
      first = took;
      patience = std::min(patience, std::chrono::seconds(10) + 10 * took);
    }
    const bool is_hang = run->result.verdict == sim::explore::Verdict::kHang;
    return is_hang && is_unfinished != was_unfinished ? nothing() : run;
  }
};

// Says what it is going to run before anything runs: the file may come from anywhere.
absl::StatusOr<std::unique_ptr<LoadedProgram>> Load(const std::string& path, const Request& asked) {
  auto loaded = std::make_unique<LoadedProgram>();
  ASSIGN_OR_RETURN(loaded->capsule, sim::explore::ReadCapsule(path));
  const Capsule& capsule = loaded->capsule;
  if (const absl::Status status = CheckProgramCapsule(capsule); !status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", status.message()));
  }
  ASSIGN_OR_RETURN(loaded->request, RequestOf(capsule, asked));
  loaded->patience = asked.patience;
  RETURN_IF_ERROR(loaded->request.settings.MakeProfile().status());
  ASSIGN_OR_RETURN(const std::string program, FindOnPath(capsule.program->words[0]));
  const std::string found =
      program == capsule.program->words[0] ? "" : absl::StrCat(" (", AsShellWords({program}), ")");
  Say(absl::StrCat("runs ", AsShellWords(capsule.program->words), found, ", seed ",
                   capsule.run.seed, ", profile ", capsule.profile, ", ",
                   capsule.run.plan.rules.size(), " fault rules"));
  return loaded;
}

// The names of the files that are not as they were.
std::vector<std::string> ChangedFiles(const std::map<std::string, std::string>& then,
                                      const std::map<std::string, std::string>& now) {
  std::vector<std::string> changed;
  for (const auto& [name, hash] : then) {
    const auto found = now.find(name);
    if (found == now.end() || found->second != hash) changed.push_back(name);
  }
  for (const auto& [name, hash] : now) {
    if (!then.contains(name)) changed.push_back(name);
  }
  return changed;
}

std::string EndLine(const sim::explore::SeedResult& result) {
  return absl::StrCat(HowItEnded(result), "; ", FormatCount(result.events, "event"), ", digest ",
                      result.digest.ToHex());
}

// Now and then a line, on a terminal always the same one.
class ShrinkProgress {
 public:
  void Tell(const std::string& line) {
    const auto now = std::chrono::steady_clock::now();
    if (now - said_ < std::chrono::milliseconds(is_watched_ ? 100 : 1000)) return;
    said_ = now;
    if (!is_watched_) return Say(line);
    std::fprintf(stderr, "\r\033[K%s", line.c_str());
  }
  void End() {
    if (is_watched_) std::fputs("\r\033[K", stderr);
  }

 private:
  const bool is_watched_ = isatty(STDERR_FILENO) != 0;
  std::chrono::steady_clock::time_point said_;
};

// A file has UTF-8; the program's words are bytes. What could not be read again is not written.
absl::Status CheckWritable(const std::string& path, const Capsule& capsule) {
  const auto read = sim::explore::ParseCapsule(sim::explore::FormatCapsule(capsule));
  if (!read.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": not written: the capsule ", read.status().message()));
  }
  if (read->program->words != capsule.program->words) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": not written: a word of the program's is no UTF-8"));
  }
  return absl::OkStatus();
}

}  // namespace

std::string BaseName(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

absl::Status MakeFolder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--capsule=", folder, ": ", error.message()));
}

absl::StatusOr<RunSpec> SpecOfRequest(const Request& request) {
  RunSpec spec;
  spec.seed = request.settings.seed;
  spec.limit = std::chrono::seconds(LimitOfEnvironment());
  if (request.settings.faults.empty()) return spec;
  auto plan = fabric::faults::ReadFaultPlan(request.settings.faults);
  if (!plan.ok()) {
    return absl::Status(plan.status().code(), absl::StrCat("--faults=", plan.status().message()));
  }
  spec.plan = *std::move(plan);
  return spec;
}

absl::StatusOr<std::string> WriteProgramCapsule(const std::string& name, const Request& request,
                                                const RecordedRun& recorded, const TracedRun& run) {
  Subject subject = SubjectOf(request);
  subject.program->files = recorded.FilesOf(request);
  Capsule capsule = MakeCapsule(subject, recorded.spec(), run);
  // Its rules and its seed give this run again, however many firings it has: the list that a trace
  // has may be a part of them, and a capsule has not room for every list.
  capsule.run.firings = recorded.spec().firings;
  RETURN_IF_ERROR(CheckWritable(name, capsule));
  return WriteNewCapsule(name, capsule);
}

absl::StatusOr<int> ReplayProgram(const Request& request) {
  ASSIGN_OR_RETURN(const auto loaded, Load(request.replay, request));
  ASSIGN_OR_RETURN(TracedRun run, loaded->Run(loaded->capsule.run));
  const auto replay = Compare(loaded->capsule, std::move(run));
  const std::string& said = loaded->ended.output;
  std::fwrite(said.data(), 1, said.size(), stderr);
  if (!said.empty() && said.back() != '\n') std::fputc('\n', stderr);
  if (!replay.exact()) Say(absl::StrCat("then: ", EndLine(loaded->capsule.result)));
  Say(absl::StrCat(replay.exact() ? "" : "now:  ", EndLine(replay.run.result)));
  const std::vector<std::string> changed =
      ChangedFiles(loaded->capsule.program->files, loaded->recorded->FilesOf(loaded->request));
  if (!changed.empty()) {
    Say(absl::StrCat("not what was recorded: ", absl::StrJoin(changed, ", ")));
  }
  Say(replay.what);
  return replay.exact() && changed.empty() ? 0 : 1;
}

absl::StatusOr<int> ShrinkProgram(const Request& request) {
  const bool is_named = !request.out.empty();
  const std::string out = is_named ? request.out : request.shrink + ".min";
  RETURN_IF_ERROR(CheckOutputs({{is_named ? "out" : "shrink", out}, {"picture", request.picture}}));
  RETURN_IF_ERROR(CheckSpares("picture", request.picture, {request.shrink}));
  ASSIGN_OR_RETURN(const auto loaded, Load(request.shrink, request));
  RETURN_IF_ERROR(RecordedRun::Prepare(loaded->capsule.run).status());
  Subject subject = SubjectOf(loaded->request);
  subject.run = [&](const RunSpec& spec) { return loaded->Attempt(spec); };
  ShrinkProgress progress;
  sim::explore::ShrinkOptions options;
  options.most_runs = 5000;  // of a process each
  options.progress = [&](const std::string& line) { progress.Tell(line); };
  auto report = Shrink(subject, loaded->capsule, options);
  progress.End();
  if (report.status().code() == absl::StatusCode::kFailedPrecondition) {
    Say(absl::StrCat(request.shrink, ": ", report.status().message()));
    return 1;
  }
  RETURN_IF_ERROR(report.status());
  report->capsule.program->files = loaded->recorded->FilesOf(loaded->request);
  RETURN_IF_ERROR(CheckWritable(out, report->capsule));
  RETURN_IF_ERROR(WriteCapsule(out, report->capsule));
  if (!request.picture.empty()) {
    RETURN_IF_ERROR(WriteOutput("picture", request.picture,
                                [&](std::ostream& file) { file << DrawShrunk(*report); }));
  }
  std::fputs(Printable(FormatShrink(*report, out)).c_str(), stdout);
  return 0;
}

}  // namespace drydock::apps
