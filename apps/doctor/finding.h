// Doctor's findings about a machine: one for each check, with a fix for each problem.

#ifndef DRYDOCK_APPS_DOCTOR_FINDING_H_
#define DRYDOCK_APPS_DOCTOR_FINDING_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace drydock::apps::doctor {

// In the order in which they are shown.
enum class Group : std::uint8_t {
  kMachine,    // where this is
  kNics,       // the devices, their driver, their files
  kLibraries,  // rdma-core and libfabric
  kLimits,     // limits of this process
  kGpus,       // the way of a GPU's memory to the NICs
  kPlaces,     // NUMA nodes, CPUs, hwloc
  kNetwork,    // outside the machine
  kPlan,       // the budget of a planned run
};

enum class Severity : std::uint8_t {
  kOk,
  kInfo,     // nothing to repair
  kWarning,  // works badly, or in part
  kCannot,   // EFA programs cannot run
};

// "machine", "nics", ...; "ok", "info", "warning", "cannot".
absl::string_view NameOf(Group group);
absl::string_view NameOf(Severity severity);
const std::vector<Group>& AllGroups();

struct Finding {
  Group group = Group::kMachine;
  std::string check;  // locked-memory: the same in every release, for scripts
  Severity severity = Severity::kOk;
  std::string what;  // the observation
  std::string fix;   // the remedy; never empty for a warning or an error
};

// Collects the findings of one group. Threads: one.
class Findings {
 public:
  Findings(Group group, std::vector<Finding>& into) : group_(group), into_(into) {}

  void Ok(absl::string_view check, std::string what) { Add(check, Severity::kOk, what, ""); }
  void Info(absl::string_view check, std::string what, std::string fix = "") {
    Add(check, Severity::kInfo, what, fix);
  }
  void Warning(absl::string_view check, std::string what, std::string fix) {
    Add(check, Severity::kWarning, what, fix);
  }
  void Cannot(absl::string_view check, std::string what, std::string fix) {
    Add(check, Severity::kCannot, what, fix);
  }

 private:
  void Add(absl::string_view check, Severity severity, const std::string& what,
           const std::string& fix);

  const Group group_;
  std::vector<Finding>& into_;
};

// The most severe; kOk for none.
Severity WorstOf(const std::vector<Finding>& findings);

// Untrusted text of a file, for a line of output: bytes other than printable ASCII become question
// marks, and text longer than `max_bytes` ends in "...".
std::string Printable(absl::string_view text, std::size_t max_bytes = 160);

}  // namespace drydock::apps::doctor

#endif  // DRYDOCK_APPS_DOCTOR_FINDING_H_
