// Where the rules come from: ofiwg/libfabric prov/efa/src/efa_env.c, efa_fork_support.c, efa_hmem.c
// and man/fi_efa.7.md; linux-rdma/rdma-core libibverbs/man/ibv_fork_init.3.md; Linux
// Documentation/admin-guide/LSM/Yama.rst.

#include <array>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "drydock/apps/common/units.h"
#include "drydock/apps/doctor/checks.h"
#include "drydock/apps/doctor/grants.h"

namespace drydock::apps::doctor {
namespace {

// Below this, not even libfabric's own buffers for the receives of one endpoint of `efa` fit: 8192
// of 8928 bytes.
constexpr std::uint64_t kPoolBytes = 70 << 20;
constexpr std::uint64_t kUselessBytes = 64 << 10;  // the default of older systems
constexpr std::uint64_t kSmallShm = 1 << 30;

// Whether it is there, if only empty: libfabric reads that, too.
bool IsThere(const MachineFacts& machine, const char* name) {
  return machine.environment.count(name) > 0;
}

// As libfabric reads a variable that is yes or no (src/var.c); none: neither.
std::optional<bool> YesOrNo(const MachineFacts& machine, const char* name) {
  const std::string value = absl::AsciiStrToLower(machine.Variable(name));
  for (const char* no : {"0", "false", "no", "off"}) {
    if (value == no) return false;
  }
  for (const char* yes : {"1", "true", "yes", "on"}) {
    if (value == yes) return true;
  }
  return std::nullopt;
}

bool IsSet(const MachineFacts& machine, const char* name) { return YesOrNo(machine, name) == true; }

// As libfabric reads a variable that is a number: any word is 0, `yes` and `on` as well.
long NumberIn(const MachineFacts& machine, const char* name) {
  return std::strtol(machine.Variable(name).c_str(), nullptr, 0);
}

void CheckLockedMemory(const MachineFacts& machine, Findings& findings) {
  const LockedMemory limit = ReadLockedMemory(machine);
  const std::string fix = LockedMemoryFix(machine);
  if (!limit.known) {
    findings.Warning(
        "locked-memory",
        absl::StrCat("the limit of locked memory cannot be read from ", machine.process, "/limits"),
        "see `ulimit -l`; it should be unlimited");
  } else if (limit.unlimited) {
    findings.Ok("locked-memory", limit.by_capability
                                     ? "no limit of locked memory: this process has CAP_IPC_LOCK"
                                     : "no limit of locked memory");
  } else if (limit.bytes <= kUselessBytes) {
    findings.Cannot("locked-memory",
                    absl::StrCat("only ", FormatBytes(limit.bytes), " may be locked",
                                 machine.container.empty() ? "" : " in this container",
                                 ": registrations fail with ENOMEM (-12), libfabric's own with "
                                 "provider error 4112"),
                    fix);
  } else {
    findings.Warning("locked-memory",
                     absl::StrCat(FormatBytes(limit.bytes),
                                  " may be locked: all that is registered "
                                  "counts, once for each NIC",
                                  limit.bytes < kPoolBytes
                                      ? ", and the 70 MiB of receives of one endpoint of `efa` too"
                                      : ""),
                     fix);
  }
}

// Whether this container may use none, however many the machine has: Kubernetes gives a pod those
// that it asks for (kubelet, GetHugepageLimitsFromResources), and the kernel ends who touches one
// more by SIGBUS. The first file is of version 2 of control groups.
bool MayUseNoHugePage(const MachineFacts& machine) {
  if (machine.container.empty()) return false;
  for (const char* file :
       {"/sys/fs/cgroup/hugetlb.2MB.max", "/sys/fs/cgroup/hugetlb/hugetlb.2MB.limit_in_bytes"}) {
    if (machine.files.Number(file) == 0) return true;  // "max" is no number
  }
  return false;
}

// `size`: of the pages that vm.nr_hugepages and libfabric mean. As many of 512 MiB, the size on
// some 64-bit Arm systems, or of 1 GiB would take all of the memory.
std::string HugePagesFix(const std::string& size) {
  if (size != "2048 kB") {
    return absl::StrCat(
        "default_hugepagesz=2M on the kernel's command line, and then "
        "vm.nr_hugepages=5128 in /etc/sysctl.d; as it is, that would be 5128 pages of ",
        size);
  }
  return "echo 5128 | sudo tee /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages, and "
         "vm.nr_hugepages=5128 in /etc/sysctl.d for the next start";
}

void CheckHugePages(const MachineFacts& machine, Findings& findings) {
  const auto text = machine.files.Read("/proc/meminfo");
  std::uint64_t total = 0, free_pages = 0;
  if (!text.ok() || !absl::SimpleAtoi(FieldOf(*text, "HugePages_Total"), &total) ||
      !absl::SimpleAtoi(FieldOf(*text, "HugePages_Free"), &free_pages)) {
    findings.Warning("huge-pages", "/proc/meminfo does not tell how many huge pages there are",
                     "see `grep Huge /proc/meminfo`");
    return;
  }
  const bool demanded = IsSet(machine, "FI_EFA_USE_HUGE_PAGE");
  const std::string size = FieldOf(*text, "Hugepagesize");
  const std::string fix =
      absl::StrCat(machine.container.empty() ? "" : "on the host: ", HugePagesFix(size));
  if (total == 0) {
    findings.Warning("huge-pages",
                     absl::StrCat("no huge pages are reserved: libfabric's buffers and large "
                                  "registrations take 512 times the entries",
                                  demanded ? ", and FI_EFA_USE_HUGE_PAGE asks for them" : ""),
                     fix);
  } else if (free_pages == 0) {
    findings.Warning("huge-pages", absl::StrCat("all ", total, " huge pages are taken"), fix);
  } else if (MayUseNoHugePage(machine) && YesOrNo(machine, "FI_EFA_USE_HUGE_PAGE") != false) {
    findings.Warning("huge-pages",
                     absl::StrCat("the machine has ", total,
                                  " huge pages, of which this container may use none: a program "
                                  "that touches one ends by SIGBUS"),
                     "in Kubernetes, hugepages-2Mi under the pod's requests and limits; or "
                     "FI_EFA_USE_HUGE_PAGE=0");
  } else {
    findings.Ok("huge-pages",
                absl::StrCat(free_pages, " of ", total, " huge pages of ", size, " are free"));
  }
}

// "size=65536k" of a mount's options, in bytes; none: not told, as for half of the memory.
std::optional<std::uint64_t> ShmBytes(const MachineFacts& machine) {
  const auto mounts = machine.files.Read(machine.process + "/mounts");
  if (!mounts.ok()) return std::nullopt;
  std::optional<std::uint64_t> bytes;
  for (const absl::string_view line : absl::StrSplit(*mounts, '\n')) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, ' ');
    if (fields.size() < 4 || fields[1] != "/dev/shm") continue;
    bytes.reset();  // a later mount hides the earlier one
    for (absl::string_view option : absl::StrSplit(fields[3], ',')) {
      std::uint64_t kib = 0;
      if (absl::ConsumePrefix(&option, "size=") && absl::ConsumeSuffix(&option, "k") &&
          absl::SimpleAtoi(option, &kib) && kib < UINT64_MAX / 1024) {
        bytes = kib * 1024;
      }
    }
  }
  return bytes;
}

std::string SharedMemoryFix(const MachineFacts& machine) {
  if (machine.container == "kubernetes") {
    return "mount an emptyDir with `medium: Memory` at /dev/shm in the pod";
  }
  return machine.container.empty() ? "sudo mount -o remount,size=8G /dev/shm"
                                   : "docker run --shm-size=8g, or --ipc=host";
}

void CheckSharedMemory(const MachineFacts& machine, Findings& findings) {
  const std::optional<std::uint64_t> bytes = ShmBytes(machine);
  if (!bytes.has_value() || *bytes >= kSmallShm) return;
  findings.Warning("shared-memory",
                   absl::StrCat("/dev/shm has ", FormatBytes(*bytes),
                                ": processes of one machine exchange messages there, and NCCL too"),
                   SharedMemoryFix(machine));
}

void CheckForks(const MachineFacts& machine, Findings& findings) {
  std::vector<std::string> asked;
  if (IsSet(machine, "FI_EFA_FORK_SAFE")) asked.emplace_back("FI_EFA_FORK_SAFE");
  // Of these, libibverbs and libfabric ask only whether they are there.
  for (const char* name : {"RDMAV_FORK_SAFE", "IBV_FORK_SAFE"}) {
    if (machine.environment.count(name) > 0) asked.emplace_back(name);
  }
  const std::string list = absl::StrJoin(asked, ", ");
  const LibraryCopy* const verbs = LoadedCopy(machine.libibverbs);
  // The kernel copies pinned pages when a process forks, and rdma-core asks it whether it does.
  const bool kernel_copies = machine.kernel.has_value() && *machine.kernel >= Version{5, 13, 0};
  const bool noticed =
      verbs != nullptr && verbs->version.has_value() && *verbs->version >= Version{35, 0, 0};
  if (kernel_copies && noticed) {
    asked.empty()
        ? findings.Ok("fork", "programs may fork: the kernel copies what is pinned")
        : findings.Info("fork", absl::StrCat(list,
                                             " is not needed here: the kernel copies pinned "
                                             "pages itself, and then it has no effect"));
  } else if (!asked.empty() && machine.environment.count("RDMAV_HUGEPAGES_SAFE") > 0) {
    findings.Cannot("fork",
                    absl::StrCat(list,
                                 " and RDMAV_HUGEPAGES_SAFE: libfabric's provider efa refuses to "
                                 "start"),
                    "unset RDMAV_HUGEPAGES_SAFE");
  } else if (!asked.empty() && IsSet(machine, "FI_EFA_USE_HUGE_PAGE")) {
    findings.Cannot("fork",
                    absl::StrCat(list,
                                 " and FI_EFA_USE_HUGE_PAGE: libfabric ends the program, as "
                                 "huge pages cannot be kept from a forked child"),
                    "unset one of them");
  } else if (!asked.empty()) {
    findings.Info("fork",
                  absl::StrCat(list, ": forks are safe, and every registration costs more"));
  } else {
    findings.Warning("fork",
                     absl::StrCat("a program that forks (or calls system) after it opened EFA is "
                                  "aborted: ",
                                  kernel_copies ? "rdma-core from 35 on is needed, or unknown here"
                                                : "the kernel is older than 5.13, or unknown"),
                     "FI_EFA_FORK_SAFE=1 where programs fork");
  }
}

void CheckPtrace(const MachineFacts& machine, Findings& findings) {
  const auto scope = machine.files.Number("/proc/sys/kernel/yama/ptrace_scope");
  if (!scope.has_value()) return;  // without Yama, processes of one user may
  if (*scope == 0) {
    findings.Ok("ptrace-scope", "processes of one user may read each other's memory");
  } else if (IsThere(machine, "FI_EFA_ENABLE_SHM_TRANSFER") &&
             NumberIn(machine, "FI_EFA_ENABLE_SHM_TRANSFER") == 0) {
    findings.Info("ptrace-scope", absl::StrCat("kernel.yama.ptrace_scope is ", *scope,
                                               ", and transfers in shared memory are off"));
  } else {
    findings.Warning("ptrace-scope",
                     absl::StrCat("kernel.yama.ptrace_scope is ", *scope,
                                  ": between processes of one machine, libfabric's provider efa "
                                  "cannot copy directly (cross-memory attach)"),
                     "sudo sysctl -w kernel.yama.ptrace_scope=0, or FI_EFA_ENABLE_SHM_TRANSFER=0");
  }
}

// ---- Variables that end programs, or hide the NICs ----

bool ExcludesEfa(const std::string& value) {
  if (value.empty()) return false;
  const bool negated = value[0] == '^';
  bool named = false;
  for (const std::string& part : std::vector<std::string>(absl::StrSplit(
           negated ? value.substr(1) : value, absl::ByAnyChar(",;"), absl::SkipWhitespace()))) {
    named = named || absl::StripAsciiWhitespace(part) == "efa";
  }
  return named == negated;
}

bool NamesNoNic(const MachineFacts& machine, const std::string& names) {
  const std::vector<Nic> nics = machine.GivenNics();
  for (const absl::string_view name : absl::StrSplit(names, ',')) {
    for (const Nic& nic : nics) {
      if (name == nic.rdma_name) return false;
    }
  }
  return true;
}

// What ends a program, or leaves it without a NIC.
std::vector<std::string> DeadlyVariables(const MachineFacts& machine) {
  std::vector<std::string> deadly;
  for (const char* name : {"FI_EFA_MTU_SIZE", "FI_EFA_TX_IOV_LIMIT", "FI_EFA_RX_IOV_LIMIT"}) {
    if (machine.environment.count(name) > 0) {
      deadly.push_back(absl::StrCat(name, " is gone from libfabric, which aborts where it is set"));
    }
  }
  if (IsThere(machine, "FI_EFA_TX_MIN_CREDITS") &&
      NumberIn(machine, "FI_EFA_TX_MIN_CREDITS") <= 0) {
    deadly.push_back(absl::StrCat(
        "FI_EFA_TX_MIN_CREDITS=", Printable(machine.Variable("FI_EFA_TX_MIN_CREDITS"), 20),
        " must be positive: libfabric aborts"));
  }
  const std::string rdma = absl::StrCat("FI_EFA_USE_DEVICE_RDMA=",
                                        Printable(machine.Variable("FI_EFA_USE_DEVICE_RDMA"), 20));
  const std::optional<bool> use_rdma = YesOrNo(machine, "FI_EFA_USE_DEVICE_RDMA");
  if (IsThere(machine, "FI_EFA_USE_DEVICE_RDMA") && !use_rdma.has_value()) {
    deadly.push_back(absl::StrCat(rdma, " is neither 0 nor 1: libfabric aborts"));
  } else if (use_rdma == true && machine.profile != nullptr && !machine.profile->device.rdma_read) {
    deadly.push_back(absl::StrCat(rdma, " asks for what the NICs of a ", machine.instance_type,
                                  " do not have: libfabric aborts"));
  }
  const auto iface = machine.environment.find("FI_EFA_IFACE");
  if (iface != machine.environment.end() && iface->second != "all" &&
      NamesNoNic(machine, iface->second)) {
    deadly.push_back(absl::StrCat("FI_EFA_IFACE=", Printable(iface->second, 40),
                                  " names no NIC that programs find here"));
  }
  const std::string provider = machine.Variable("FI_PROVIDER");
  if (ExcludesEfa(provider)) {
    deadly.push_back(absl::StrCat("FI_PROVIDER=", Printable(provider, 40), " leaves efa out"));
  }
  return deadly;
}

void CheckEnvironment(const MachineFacts& machine, Findings& findings) {
  const std::vector<std::string> deadly = DeadlyVariables(machine);
  if (!machine.environment_known) {
    findings.Info(
        "environment",
        absl::StrCat("the variables of the process cannot be read (", machine.process, "/environ)"),
        "look as the user that it belongs to, or as root");
  } else if (!deadly.empty()) {
    findings.Cannot("environment", absl::StrJoin(deadly, "; "), "unset what is named");
  } else if (IsSet(machine, "FI_HMEM_DISABLE_P2P")) {
    findings.Warning("environment", "FI_HMEM_DISABLE_P2P keeps GPU memory from the NICs",
                     "unset FI_HMEM_DISABLE_P2P");
  } else {
    findings.Ok("environment", "no variable stands in the way");
  }
}

}  // namespace

void CheckLimits(const MachineFacts& machine, Findings& findings) {
  CheckLockedMemory(machine, findings);
  CheckHugePages(machine, findings);
  CheckSharedMemory(machine, findings);
  CheckForks(machine, findings);
  CheckPtrace(machine, findings);
  CheckEnvironment(machine, findings);
}

}  // namespace drydock::apps::doctor
