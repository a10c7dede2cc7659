#include "drydock/apps/doctor/grants.h"

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace drydock::apps::doctor {
namespace {

constexpr std::uint64_t kIpcLock = std::uint64_t{1} << 14;  // linux/capability.h: CAP_IPC_LOCK

// Of the user namespace in which the machine began: it has all users. The kernel asks for the
// capability there (Linux drivers/infiniband/core/umem.c, capable()); who is root of a later one,
// as in a container that no root has started, has it in that one alone.
bool IsInFirstUserNamespace(const MachineFacts& machine) {
  const auto map = machine.files.Read(machine.process + "/uid_map");
  if (!map.ok()) return true;  // of a kernel without them
  const std::vector<absl::string_view> fields =
      absl::StrSplit(*map, absl::ByAnyChar(" \n"), absl::SkipEmpty());
  return fields == std::vector<absl::string_view>{"0", "0", "4294967295"};
}

bool MayLockAnything(const MachineFacts& machine) {
  if (!IsInFirstUserNamespace(machine)) return false;
  const auto status = machine.files.Read(machine.process + "/status");
  std::uint64_t capabilities = 0;
  return status.ok() && absl::SimpleHexAtoi(FieldOf(*status, "CapEff"), &capabilities) &&
         (capabilities & kIpcLock) != 0;
}

}  // namespace

LockedMemory ReadLockedMemory(const MachineFacts& machine) {
  LockedMemory limit;
  const auto text = machine.files.Read(machine.process + "/limits");
  if (text.ok()) {
    for (absl::string_view line : absl::StrSplit(*text, '\n')) {
      if (!absl::ConsumePrefix(&line, "Max locked memory")) continue;
      const std::vector<absl::string_view> fields = absl::StrSplit(line, ' ', absl::SkipEmpty());
      limit.unlimited = !fields.empty() && fields[0] == "unlimited";
      limit.known =
          limit.unlimited || (!fields.empty() && absl::SimpleAtoi(fields[0], &limit.bytes));
    }
  }
  if (!limit.unlimited && MayLockAnything(machine)) {
    limit.known = limit.unlimited = limit.by_capability = true;
  }
  return limit;
}

std::string LockedMemoryFix(const MachineFacts& machine) {
  if (machine.container == "kubernetes") {
    return "raise LimitMEMLOCK of the node's container runtime to infinity, or give the pod the "
           "capability IPC_LOCK";
  }
  if (!machine.container.empty()) return "docker run --ulimit memlock=-1:-1";
  return "`* - memlock unlimited` in /etc/security/limits.d/efa.conf, then log in again; for a "
         "service, LimitMEMLOCK=infinity; for Slurm, in slurmd's service";
}

}  // namespace drydock::apps::doctor
