#include "drydock/apps/doctor/examination.h"

#include <string>
#include <vector>

#include "drydock/apps/common/program_command.h"
#include "drydock/apps/doctor/checks.h"
#include "drydock/apps/doctor/libraries.h"
#include "drydock/apps/doctor/machine.h"
#include "drydock/apps/doctor/version.h"

namespace drydock::apps::doctor {
namespace {

class Examination {
 public:
  Examination(const SystemFiles& files, Probes* probes, const ExaminationOptions& options)
      : machine_(LookAround(files, options.process)), probes_(probes), options_(options) {}

  Diagnosis Run();

 private:
  bool Wanted(Group group) const { return options_.only.empty() || options_.only.count(group) > 0; }
  // Runs `check` for a group that is wanted.
  template <typename Check>
  void In(Group group, Check check) {
    if (!Wanted(group)) return;
    Findings findings(group, diagnosis_.findings);
    check(findings);
  }
  void CheckWhatNeedsNics();
  void AddNext();

  const MachineFacts machine_;
  Probes* const probes_;
  const ExaminationOptions& options_;
  Diagnosis diagnosis_;
};

// The provider of a first run: `efa` where there is no efa-direct, or where it cannot write.
std::string ProviderFor(const MachineFacts& machine) {
  const auto is_before = [](const LibraryCopy* copy, const Version& release) {
    return copy != nullptr && copy->version.has_value() && *copy->version < release;
  };
  const bool writes = machine.profile == nullptr || machine.profile->device.rdma_write;
  const bool direct = writes && !is_before(LoadedCopy(machine.libfabric), kFirstWithEfaDirect) &&
                      !is_before(LoadedCopy(machine.libefa), kFirstWithRdmaWrite);
  return direct ? "--provider=efa-direct" : "--provider=efa";
}

void Examination::CheckWhatNeedsNics() {
  In(Group::kLimits, [&](Findings& findings) { CheckLimits(machine_, findings); });
  In(Group::kGpus, [&](Findings& findings) { CheckGpus(machine_, probes_, findings); });
  In(Group::kPlaces, [&](Findings& findings) { CheckPlaces(machine_, findings); });
  In(Group::kNetwork, [&](Findings& findings) { CheckNetwork(findings); });
}

void Examination::AddNext() {
  std::vector<std::string>& next = diagnosis_.next;
  if (diagnosis_.partial) return;
  if (!machine_.has_efa()) {
    next = {"on the simulator, now:    " + ProgramCommand("write"),
            "on the NICs of a p5:      " + ProgramCommand("write", "--profile=p5"),
            "libfabric itself, by TCP: " + ProgramCommand("write", "--provider=tcp"),
            "any libfabric program:    " + ProgramCommand("efa-run", "fi_info -p efa"),
            "to learn it:              docs/tutorial.md",
            "on a real NIC:            docs/efa-instance.md"};
  } else if (WorstOf(diagnosis_.findings) == Severity::kCannot) {
    next = {"repair the errors, from the top; then again: " + ProgramCommand("doctor"),
            "until then, on the simulator: " + ProgramCommand("write")};
  } else {
    const std::string provider = ProviderFor(machine_);
    next = {"the NICs as programs see them: " + ProgramCommand("info", provider),
            "the first transfer: " + ProgramCommand("write", provider) + " on two machines",
            "a planned run: " +
                ProgramCommand("doctor", "--only=plan --plan-peers=N --plan-memory=SIZE")};
  }
}

Diagnosis Examination::Run() {
  diagnosis_.instance_type = machine_.instance_type;
  diagnosis_.nics = machine_.nics.size();
  diagnosis_.partial = !options_.only.empty();
  diagnosis_.shortened = !machine_.has_efa() && !options_.everything && options_.only.empty();
  In(Group::kMachine, [&](Findings& findings) { CheckMachine(machine_, findings); });
  In(Group::kNics, [&](Findings& findings) {
    CheckNicsArePresent(machine_, findings);
    if (machine_.has_efa()) CheckNicsWork(machine_, findings);
    if (machine_.has_efa() && probes_ != nullptr) CheckCapabilities(machine_, *probes_, findings);
  });
  In(Group::kLibraries, [&](Findings& findings) { CheckLibraries(machine_, probes_, findings); });
  if (!diagnosis_.shortened) CheckWhatNeedsNics();
  if (options_.plan.has_value()) {
    const sim::Profile* profile =
        options_.plan_profile != nullptr ? options_.plan_profile : machine_.profile;
    if (profile == nullptr) profile = *sim::FindProfile("p5");
    In(Group::kPlan,
       [&](Findings& findings) { CheckPlan(*options_.plan, *profile, machine_, findings); });
  }
  AddNext();
  return diagnosis_;
}

}  // namespace

Diagnosis Examine(const SystemFiles& files, Probes* probes, const ExaminationOptions& options) {
  return Examination(files, probes, options).Run();
}

int ExitStatusOf(const Diagnosis& diagnosis) {
  switch (WorstOf(diagnosis.findings)) {
    case Severity::kCannot:
      return 2;
    case Severity::kWarning:
      return 1;
    default:
      return 0;
  }
}

}  // namespace drydock::apps::doctor
