// Where the thresholds come from: amzn-drivers kernel/linux/efa/RELEASENOTES.md (features of the
// driver) and src/efa_verbs.c (counters); linux-rdma/rdma-core kernel-boot and the AWS EC2 user
// guide, "Elastic Fabric Adapter" (attachments, device files).

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "drydock/apps/common/units.h"
#include "drydock/apps/doctor/checks.h"

namespace drydock::apps::doctor {
namespace {

constexpr char kInstaller[] =
    "install the driver: aws-efa-installer's ./efa_installer.sh -y, or load your kernel's with "
    "`sudo modprobe efa`; docs/efa-instance.md has the steps";

// The first few of many.
std::string Some(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 4;
  if (names.size() <= kShown) return absl::StrJoin(names, ", ");
  return absl::StrCat(absl::StrJoin(names.begin(), names.begin() + kShown, ", "), " and ",
                      names.size() - kShown, " more");
}

template <typename Predicate>
std::vector<std::string> AddressesOf(const MachineFacts& machine, Predicate predicate) {
  std::vector<std::string> addresses;
  for (const Nic& nic : machine.nics) {
    if (predicate(nic)) addresses.push_back(nic.pci_address);
  }
  return addresses;
}

void CheckDriver(const MachineFacts& machine, Findings& findings) {
  const SystemFiles& files = machine.files;
  if (!files.Exists("/sys/module/efa")) {
    findings.Cannot("efa-driver", "the kernel module efa is not loaded", kInstaller);
    return;
  }
  const std::string text = files.FirstLine("/sys/module/efa/version");
  const std::optional<Version> version = ParseVersion(text);
  if (text.empty()) {
    findings.Info(
        "efa-driver",
        "the kernel's own efa module is loaded; it tells no version, so that it cannot be "
        "seen whether it has RDMA write (2.4 of amzn-drivers) and dmabuf (1.16)");
  } else if (!version.has_value()) {
    findings.Warning("efa-driver", absl::StrCat("the efa module's version is '", text, "'"),
                     kInstaller);
  } else if (*version < Version{2, 4, 0}) {
    findings.Warning(
        "efa-driver",
        absl::StrCat("efa ", text, " has no RDMA write, which came with 2.4",
                     *version < Version{1, 16, 0} ? ", and no dmabuf, which came with 1.16" : ""),
        kInstaller);
  } else {
    findings.Ok("efa-driver", absl::StrCat("efa ", text));
  }
  if (!files.Exists("/sys/module/ib_uverbs")) {
    findings.Cannot("ib-uverbs",
                    "the kernel module ib_uverbs is not loaded: programs cannot reach any NIC",
                    "sudo modprobe ib_uverbs");
  }
  if (files.Exists("/sys/module/mlx_compat")) {
    findings.Warning(
        "other-rdma",
        "Mellanox OFED has replaced the kernel's RDMA modules, with which efa may fail "
        "to load or misbehave (amzn-drivers issue 308)",
        "remove MLNX_OFED on machines that have only EFA");
  }
}

void CheckRdmaDevices(const MachineFacts& machine, Findings& findings) {
  const auto orphans = AddressesOf(machine, [](const Nic& nic) { return nic.rdma_name.empty(); });
  const auto down = AddressesOf(machine, [](const Nic& nic) {
    return !nic.rdma_name.empty() && !absl::StrContains(nic.port_state, "ACTIVE");
  });
  if (!orphans.empty()) {
    findings.Cannot(
        "rdma-devices",
        absl::StrCat("no RDMA device in /sys/class/infiniband for ", Some(orphans),
                     orphans.size() == 1 ? "" : ": the driver has not taken them"),
        "see `sudo dmesg | grep -i efa`; a driver and a kernel that do not fit together "
        "say so there");
  } else if (!down.empty()) {
    findings.Cannot("rdma-devices", absl::StrCat("the port is not active of ", Some(down)),
                    "see `sudo dmesg | grep -i efa`; stop and start the instance if it stays so");
  } else {
    findings.Ok("rdma-devices",
                absl::StrCat(FormatCount(machine.nics.size(), "RDMA device"), ", ",
                             machine.nics.front().rdma_name,
                             machine.nics.size() > 1 ? " and so on" : "", ", ports active"));
  }
}

std::string NodesFix(const MachineFacts& machine) {
  if (machine.container == "kubernetes") {
    return "ask for the device plugin's resource in the pod: vpc.amazonaws.com/efa under requests "
           "and limits, one for each NIC";
  }
  if (!machine.container.empty()) {
    return "give the container the host's devices: docker run --device=/dev/infiniband/uverbs0 "
           "(one "
           "for each NIC), or enroot start --mount /dev/infiniband:/dev/infiniband; "
           "containers/README.md has the whole lines";
  }
  return "sudo modprobe ib_uverbs; the files are made by udev with the rules of the package "
         "rdma-core";
}

// A container that was given the device files of some NICs: rdma-core passes over the others
// (libibverbs/init.c, try_access_device), and so does libfabric.
void ReportPart(const MachineFacts& machine, std::size_t given, Findings& findings) {
  const std::string what = absl::StrCat(
      "programs find ", given, " of the ", FormatCount(machine.nics.size(), "NIC"),
      ": this container (", machine.container, ") was given the device files of those");
  const std::string fix = absl::StrCat("for the others too: ", NodesFix(machine));
  if (machine.container == "kubernetes") {  // the pod has asked for so many
    findings.Info("device-nodes", what, fix);
  } else {
    findings.Warning("device-nodes", what, fix);
  }
}

void CheckDeviceNodes(const MachineFacts& machine, Findings& findings) {
  std::vector<std::string> missing, closed;
  std::string words;
  std::size_t good = 0;
  for (const Nic& nic : machine.nics) {
    if (nic.uverbs.empty()) continue;
    const std::string path = absl::StrCat("/dev/infiniband/", nic.uverbs);
    const absl::Status opened = machine.files.TryToOpen(path);
    if (opened.ok()) {
      ++good;
    } else if (absl::IsNotFound(opened)) {
      missing.push_back(path);
    } else {
      closed.push_back(path);
      words = std::string(opened.message());
    }
  }
  if (!missing.empty() && good > 0 && closed.empty() && !machine.container.empty()) {
    ReportPart(machine, good, findings);
  } else if (!missing.empty()) {
    findings.Cannot("device-nodes",
                    absl::StrCat(Some(missing), missing.size() == 1 ? " is" : " are",
                                 " not there, though the driver has the NICs",
                                 machine.container.empty()
                                     ? ""
                                     : absl::StrCat(": this is a container (", machine.container,
                                                    ") that was not given them")),
                    NodesFix(machine));
  } else if (!closed.empty()) {
    findings.Cannot(
        "device-nodes",
        absl::StrCat(FormatCount(closed.size(), "device file"), " cannot be opened: ", words),
        machine.container.empty()
            ? "udev makes them readable and writable for all (mode 0666): install the "
              "package rdma-core, then `sudo udevadm trigger`"
            : NodesFix(machine));
  } else if (good == 0) {
    findings.Cannot("device-nodes", "no NIC has a device in /sys/class/infiniband_verbs",
                    "sudo modprobe ib_uverbs");
  } else {
    findings.Ok("device-nodes", absl::StrCat(FormatCount(good, "device file"),
                                             " of /dev/infiniband can be opened"));
  }
}

void CheckInterrupts(const MachineFacts& machine, Findings& findings) {
  // The first vector is the admin queue's.
  const auto blind = AddressesOf(machine, [](const Nic& nic) { return nic.interrupts == 1; });
  if (blind.empty()) return;
  findings.Warning("interrupts",
                   absl::StrCat("no completion interrupts of ", Some(blind),
                                ": programs that wait without polling get ENOSYS"),
                   "poll, or use an efa driver from 1.16 on");
}

// Counters that should stand still: amzn-drivers names what went wrong "..._err".
bool CountsTrouble(const std::string& name) {
  static const auto* const kNames = new std::set<std::string>{
      "rx_drops", "unresponsive_remote_events", "impaired_remote_conn_events"};
  return kNames->count(name) > 0 || absl::EndsWith(name, "_err");
}

void CheckCounters(const MachineFacts& machine, Findings& findings) {
  std::map<std::string, std::int64_t> totals;
  for (const Nic& nic : machine.nics) {
    if (nic.rdma_name.empty()) continue;
    const std::string folder =
        absl::StrCat("/sys/class/infiniband/", nic.rdma_name, "/ports/1/hw_counters");
    for (const std::string& name : machine.files.List(folder)) {
      const auto value = machine.files.Number(absl::StrCat(folder, "/", name));
      // Far below what would overflow with as many NICs as a folder can name.
      if (!CountsTrouble(name) || value.value_or(0) <= 0 || *value > (INT64_MAX >> 16)) continue;
      totals[Printable(name, 40)] += *value;
    }
  }
  if (totals.empty()) return;
  std::vector<std::string> lines;
  for (const auto& [name, total] : totals) lines.push_back(absl::StrCat(name, " ", total));
  findings.Info("counters", absl::StrCat("since the NICs started, all together: ", Some(lines)),
                "they count from the start of the machine: look whether they grow during a run; "
                "docs/errors.md says what the errors mean");
}

}  // namespace

void CheckNicsArePresent(const MachineFacts& machine, Findings& findings) {
  const std::size_t found = machine.nics.size();
  const std::size_t expected = machine.profile == nullptr ? 0 : machine.profile->nics.size();
  if (found == 0 && !machine.on_ec2) {
    findings.Cannot("efa-nics", "there is no EFA NIC here, and this is no EC2 instance",
                    "EFA programs run here on the simulator; see the end of this report");
  } else if (found == 0) {
    findings.Cannot("efa-nics", absl::StrCat("no EFA NIC on this ", machine.instance_type),
                    "launch an instance type that has EFA, with network interfaces of the type "
                    "efa: they can be attached only while the instance is stopped or new");
  } else if (found < expected) {
    findings.Warning(
        "efa-nics",
        absl::StrCat(FormatCount(found, "EFA NIC"), " of the ", expected, " that a ",
                     machine.instance_type, " can have"),
        "attach an interface of the type efa or efa-only to every network card: of the "
        "launch template, or while the instance is stopped");
  } else {
    findings.Ok("efa-nics", absl::StrCat(FormatCount(found, "EFA NIC"), " (",
                                         machine.nics.front().device_id, ")"));
  }
}

void CheckNicsWork(const MachineFacts& machine, Findings& findings) {
  CheckDriver(machine, findings);
  CheckRdmaDevices(machine, findings);
  CheckDeviceNodes(machine, findings);
  CheckInterrupts(machine, findings);
  CheckCounters(machine, findings);
}

}  // namespace drydock::apps::doctor
