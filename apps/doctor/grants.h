// How much memory the system lets a process lock: for the check of the limit, and of a plan.

#ifndef DRYDOCK_APPS_DOCTOR_GRANTS_H_
#define DRYDOCK_APPS_DOCTOR_GRANTS_H_

#include <cstdint>
#include <string>

#include "drydock/apps/doctor/machine.h"

namespace drydock::apps::doctor {

struct LockedMemory {
  bool known = false;          // the file could be read and understood
  bool unlimited = false;      // by the limit or by a capability
  bool by_capability = false;  // CAP_IPC_LOCK, to which the limit does not apply
  std::uint64_t bytes = 0;     // the limit, where there is one
};

// The soft limit of the process, which is the effective one.
LockedMemory ReadLockedMemory(const MachineFacts& machine);

// How to raise it where the process runs: a container, or a system.
std::string LockedMemoryFix(const MachineFacts& machine);

}  // namespace drydock::apps::doctor

#endif  // DRYDOCK_APPS_DOCTOR_GRANTS_H_
