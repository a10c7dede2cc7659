// The doctor program: see README.md in this folder.

#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "drydock/apps/common/command_line.h"
#include "drydock/apps/common/report/output_flags.h"
#include "drydock/apps/doctor/examination.h"
#include "drydock/apps/doctor/report.h"
#include "drydock/coro/status_macros.h"

ABSL_FLAG(bool, quiet, false, "Print only warnings and errors.");
ABSL_FLAG(
    bool, all, false,
    "Without an EFA NIC, run also the checks that matter only with one: limits, GPUs, places.");
ABSL_FLAG(std::string, only, "",
          "Groups of checks to run, with commas: machine, nics, libraries, limits, gpus, places, "
          "network, "
          "plan.");
ABSL_FLAG(std::string, root, "",
          "A folder that stands for a machine: a container's root, or a copy of another machine's "
          "/sys, /proc, /dev, /etc and libraries. Nothing is run then.");
ABSL_FLAG(std::uint64_t, pid, 0,
          "Examine this running process: its limits, its variables, the libfabrics that it has "
          "loaded. 0: doctor itself.");
ABSL_FLAG(bool, probe, true,
          "Load libfabric and the CUDA driver, each in a separate process, and query them.");
ABSL_FLAG(std::string, color, "auto",
          "always, never, or auto: on a terminal, unless NO_COLOR is set.");
ABSL_FLAG(
    std::string, plan_profile, "",
    "A planned run: the machine whose limits count, such as p5. Without it: this instance's type, "
    "else p5.");
ABSL_FLAG(std::uint64_t, plan_processes, 1, "A planned run: processes on each machine.");
ABSL_FLAG(std::uint64_t, plan_nics, 0, "A planned run: NICs that each process uses; 0: all.");
ABSL_FLAG(std::uint64_t, plan_peers, 0, "A planned run: endpoints that each endpoint talks to.");
ABSL_FLAG(std::uint64_t, plan_in_flight, 1,
          "A planned run: writes under way to each peer, and from each peer.");
ABSL_FLAG(std::string, plan_memory, "0",
          "A planned run: bytes that each process registers on each of its NICs, such as 64GiB.");
ABSL_FLAG(std::uint64_t, plan_regions, 1, "A planned run: number of regions of that memory.");

namespace drydock::apps::doctor {
namespace {

const Usage kUsage = {
    .name = "doctor",
    .summary = "reports whether EFA programs can run on this machine, and what to repair.",
    .synopsis =
        "[--json|--csv|--quiet] [--all] [--only=GROUPS] [--pid=N] [--root=DIR]\n"
        "--plan-peers=N --plan-memory=SIZE [--plan-processes=N] [--plan-nics=N] "
        "[--plan-profile=NAME]",
    .examples =
        "  doctor                                this machine; exit status 0 fine, 1 a warning, 2 "
        "EFA cannot run\n"
        "  doctor --json                         the same for a script\n"
        "  doctor --pid=4711                     a running program: its limits, its libfabrics\n"
        "  doctor --root=/var/lib/machines/job   a container's files, from outside\n"
        "  doctor --only=plan --plan-profile=p5 --plan-processes=8 --plan-nics=4 "
        "--plan-peers=1024 --plan-memory=64GiB\n"
        "                                        whether a run fits the limits of a p5",
};

absl::StatusOr<std::set<Group>> GroupsFromFlag(const std::string& text) {
  std::set<Group> groups;
  for (const std::string& name :
       std::vector<std::string>(absl::StrSplit(text, ',', absl::SkipEmpty()))) {
    bool known = false;
    std::string all;
    for (const Group group : AllGroups()) {
      if (NameOf(group) == name) groups.insert(group);
      known = known || NameOf(group) == name;
      absl::StrAppend(&all, all.empty() ? "" : ", ", NameOf(group));
    }
    if (!known) {
      return absl::InvalidArgumentError(
          absl::StrCat("--only: there is no group '", name, "'; there are ", all));
    }
  }
  return groups;
}

// None where no --plan flag differs from its default.
absl::StatusOr<std::optional<Plan>> PlanFromFlags(const std::set<Group>& only) {
  Plan plan;
  plan.processes = absl::GetFlag(FLAGS_plan_processes);
  plan.nics = absl::GetFlag(FLAGS_plan_nics);
  plan.peers = absl::GetFlag(FLAGS_plan_peers);
  plan.in_flight = absl::GetFlag(FLAGS_plan_in_flight);
  plan.regions = absl::GetFlag(FLAGS_plan_regions);
  const absl::StatusOr<std::uint64_t> memory = ParseSize(absl::GetFlag(FLAGS_plan_memory));
  if (!memory.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--plan-memory: ", memory.status().message()));
  }
  plan.memory_bytes = *memory;
  RETURN_IF_ERROR(CheckPlanIsSane(plan));
  const Plan none;
  const bool asked = plan.processes != none.processes || plan.nics != none.nics ||
                     plan.peers != none.peers || plan.in_flight != none.in_flight ||
                     plan.regions != none.regions || plan.memory_bytes != none.memory_bytes ||
                     !absl::GetFlag(FLAGS_plan_profile).empty() || only.count(Group::kPlan) > 0;
  return asked ? std::optional<Plan>(plan) : std::nullopt;
}

absl::StatusOr<ExaminationOptions> OptionsFromFlags() {
  ExaminationOptions options;
  options.process = absl::GetFlag(FLAGS_pid);
  options.everything = absl::GetFlag(FLAGS_all);
  ASSIGN_OR_RETURN(options.only, GroupsFromFlag(absl::GetFlag(FLAGS_only)));
  ASSIGN_OR_RETURN(options.plan, PlanFromFlags(options.only));
  // Whoever describes a plan wants to know of it, whatever else is asked for.
  if (options.plan.has_value() && !options.only.empty()) options.only.insert(Group::kPlan);
  const std::string profile = absl::GetFlag(FLAGS_plan_profile);
  if (!profile.empty()) {
    ASSIGN_OR_RETURN(options.plan_profile, sim::FindProfile(profile));
  }
  return options;
}

absl::StatusOr<std::string> RootFromFlag() {
  std::string root = absl::GetFlag(FLAGS_root);
  struct stat found {};
  if (!root.empty() && (stat(root.c_str(), &found) != 0 || !S_ISDIR(found.st_mode))) {
    return absl::NotFoundError(absl::StrCat("--root=", root, ": no such folder"));
  }
  return root;
}

// A progress line: a CUDA driver with eight GPUs takes seconds to start.
class WaitingLine {
 public:
  explicit WaitingLine(bool shown) : shown_(shown && isatty(STDERR_FILENO) == 1) {
    if (shown_) std::cerr << "looking, and asking libfabric and the CUDA driver ..." << std::flush;
  }
  WaitingLine(const WaitingLine&) = delete;
  WaitingLine& operator=(const WaitingLine&) = delete;
  ~WaitingLine() {
    if (shown_) std::cerr << "\r\033[K" << std::flush;
  }

 private:
  const bool shown_;
};

absl::StatusOr<Diagnosis> Run(const std::vector<std::string>& positional) {
  if (!positional.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("unexpected argument: ", positional.front(), " (--help shows the flags)"));
  }
  const std::string color = absl::GetFlag(FLAGS_color);
  if (color != "auto" && color != "always" && color != "never") {
    return absl::InvalidArgumentError(
        absl::StrCat("--color=", color, " does not exist: always, never or auto"));
  }
  ASSIGN_OR_RETURN(const ExaminationOptions options, OptionsFromFlags());
  ASSIGN_OR_RETURN(const std::string root, RootFromFlag());
  const SystemFiles files(root);
  if (options.process != 0 && !files.Exists(absl::StrCat("/proc/", options.process))) {
    return absl::NotFoundError(absl::StrCat("--pid=", options.process, ": no such process"));
  }
  LiveProbes probes;
  const bool probe = files.is_this_machine() && absl::GetFlag(FLAGS_probe);
  const WaitingLine waiting(probe);
  return Examine(files, probe ? &probes : nullptr, options);
}

int Main(int argc, char** argv) {
  const std::vector<std::string> positional = ParseCommandLineOrExit(argc, argv, kUsage);
  const absl::StatusOr<OutputForm> form = OutputFormFromFlags();
  if (!form.ok()) return ReportError(kUsage.name, form.status());
  const absl::StatusOr<Diagnosis> diagnosis = Run(positional);
  if (!diagnosis.ok()) return ReportError(kUsage.name, diagnosis.status());
  const bool quiet = absl::GetFlag(FLAGS_quiet);
  if (*form != OutputForm::kText) {
    std::cout << (*form == OutputForm::kJson ? FormatJson(*diagnosis, quiet)
                                             : FormatCsv(*diagnosis, quiet));
  } else {
    const TextStyle style{UseColor(absl::GetFlag(FLAGS_color), isatty(STDOUT_FILENO) == 1,
                                   std::getenv("NO_COLOR"), std::getenv("TERM")),
                          quiet};
    std::cout << FormatText(*diagnosis, style);
  }
  return EndWith(kUsage.name, ExitStatusOf(*diagnosis));
}

}  // namespace
}  // namespace drydock::apps::doctor

int main(int argc, char** argv) { return drydock::apps::doctor::Main(argc, argv); }
