// A whole examination: the checks that apply to this machine, their findings, and next steps.

#ifndef DRYDOCK_APPS_DOCTOR_EXAMINATION_H_
#define DRYDOCK_APPS_DOCTOR_EXAMINATION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "drydock/apps/doctor/finding.h"
#include "drydock/apps/doctor/plan.h"
#include "drydock/apps/doctor/probes.h"
#include "drydock/apps/doctor/system_files.h"
#include "drydock/sim/profile/profile.h"

namespace drydock::apps::doctor {

struct ExaminationOptions {
  std::uint64_t process = 0;  // whose limits, variables and memory map; 0: this program's
  bool everything = false;    // also checks that matter only with an EFA NIC
  std::set<Group> only;       // groups; empty: all
  std::optional<Plan> plan;
  const sim::Profile* plan_profile = nullptr;  // null: of the instance type, else p5
};

struct Diagnosis {
  std::string instance_type;  // empty: not told
  std::size_t nics = 0;       // EFA NICs
  std::vector<Finding> findings;
  bool partial = false;           // only some groups were looked at
  bool shortened = false;         // checks that need an EFA NIC were left out
  std::vector<std::string> next;  // next steps: a sentence or a command line each
};

// `probes`: null where nothing may be run, because the files are another machine's.
Diagnosis Examine(const SystemFiles& files, Probes* probes, const ExaminationOptions& options);

// The program's: 0 nothing worse than information, 1 a warning, 2 EFA programs cannot run.
int ExitStatusOf(const Diagnosis& diagnosis);

}  // namespace drydock::apps::doctor

#endif  // DRYDOCK_APPS_DOCTOR_EXAMINATION_H_
