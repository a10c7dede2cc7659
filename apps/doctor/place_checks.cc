// Machine, places and network. Where the rules come from: Linux Documentation/ABI/stable/
// sysfs-devices-node and testing/sysfs-bus-pci; the AWS EC2 user guide, "Elastic Fabric Adapter",
// on security groups and subnets.

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "drydock/apps/common/program_command.h"
#include "drydock/apps/common/units.h"
#include "drydock/apps/doctor/checks.h"
#include "drydock/gpu/topology/cpu_list.h"

namespace drydock::apps::doctor {
namespace {

using gpu::topology::CpuList;

constexpr char kNodes[] = "/sys/devices/system/node/";

std::vector<std::string> NumaNodes(const SystemFiles& files) {
  std::vector<std::string> nodes;
  for (const std::string& name : files.List(kNodes)) {
    const bool numbered =
        name.size() > 4 && name.find_first_not_of("0123456789", 4) == std::string::npos;
    if (absl::StartsWith(name, "node") && numbered) nodes.push_back(name);
  }
  return nodes;
}

// The CPUs that the process may use; none: not told.
CpuList AllowedCpus(const MachineFacts& machine) {
  const auto status = machine.files.Read(machine.process + "/status");
  if (!status.ok()) return {};
  return gpu::topology::ParseCpuList(FieldOf(*status, "Cpus_allowed_list")).value_or(CpuList());
}

bool Share(const CpuList& a, const CpuList& b) {
  return std::any_of(a.begin(), a.end(),
                     [&](int cpu) { return std::binary_search(b.begin(), b.end(), cpu); });
}

void CheckNuma(const MachineFacts& machine, Findings& findings) {
  const std::vector<std::string> nodes = NumaNodes(machine.files);
  if (nodes.size() < 2) {
    findings.Ok("numa", "one NUMA node: every CPU is near every NIC");
    return;
  }
  std::set<std::int64_t> of_nics;
  for (const Nic& nic : machine.GivenNics()) of_nics.insert(nic.numa_node);
  if (of_nics.count(-1) > 0) {
    findings.Warning("numa",
                     absl::StrCat("there are ", nodes.size(),
                                  " NUMA nodes, and the system does not "
                                  "report the node of a NIC"),
                     "place threads and memory by measuring: " + ProgramCommand("affinity"));
    return;
  }
  const CpuList allowed = AllowedCpus(machine);
  std::vector<std::string> far;
  for (const std::int64_t node : of_nics) {
    const auto cpus = gpu::topology::ParseCpuList(
        machine.files.FirstLine(absl::StrCat(kNodes, "node", node, "/cpulist")));
    if (cpus.ok() && !allowed.empty() && !Share(*cpus, allowed)) far.push_back(absl::StrCat(node));
  }
  if (!far.empty()) {
    findings.Warning("numa",
                     absl::StrCat("this process may use no CPU of NUMA node ",
                                  absl::StrJoin(far, ", "), ", where NICs are"),
                     "widen its CPU set (taskset, docker --cpuset-cpus, Slurm's binding), or use "
                     "the NICs of its own node only");
  } else {
    findings.Ok("numa",
                absl::StrCat(FormatCount(nodes.size(), "NUMA node"), ", NICs on ", of_nics.size()));
  }
}

// The bridges above a device, from the host bridge down: the folders of its path in sysfs.
std::vector<std::string> BridgesOf(const MachineFacts& machine, const std::string& address) {
  const auto path = machine.files.Resolve(absl::StrCat("/sys/bus/pci/devices/", address));
  if (!path.ok()) return {};
  std::vector<std::string> parts = absl::StrSplit(*path, '/', absl::SkipEmpty());
  if (!parts.empty()) parts.pop_back();  // the device itself
  parts.erase(parts.begin(),
              parts.begin() + std::min<std::ptrdiff_t>(2, parts.end() - parts.begin()));
  return parts;  // without "sys" and "devices"
}

std::size_t CommonBridges(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  const auto [end, other] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return static_cast<std::size_t>(end - a.begin());
}

// How many NICs share the most bridges with each GPU; a host bridge is one.
void CheckPcie(const MachineFacts& machine, Findings& findings) {
  if (machine.gpus.empty() || machine.nics.empty()) return;
  std::vector<std::vector<std::string>> nics;
  for (const Nic& nic : machine.nics) nics.push_back(BridgesOf(machine, nic.pci_address));
  std::set<std::size_t> near;
  for (const Gpu& gpu : machine.gpus) {
    const std::vector<std::string> bridges = BridgesOf(machine, gpu.pci_address);
    std::size_t best = 0, count = 0;
    for (const auto& nic : nics) {
      const std::size_t common = CommonBridges(bridges, nic);
      if (common > best) count = 0;
      best = std::max(best, common);
      count += common == best ? 1 : 0;
    }
    near.insert(best == 0 ? 0 : count);
  }
  const std::string more = ProgramCommand("gpuloc") + " draws who is near whom";
  if (near.count(0) > 0) {
    findings.Info("pcie", "a GPU shares no bridge with any NIC that the system reports", more);
  } else {
    const bool one = near.size() == 1 && *near.begin() == 1;
    findings.Ok("pcie", absl::StrCat(FormatCount(machine.gpus.size(), "GPU"),
                                     machine.gpus.size() == 1 ? ", with " : ", each with ",
                                     absl::StrJoin(near, " or "), one ? " NIC" : " NICs",
                                     " below the same bridge"));
  }
}

// With an IOMMU or with ACS on, what a GPU and a NIC of one switch send each other goes up to the
// root complex and down again.
void CheckIommu(const MachineFacts& machine, Findings& findings) {
  const bool metal = absl::StrContains(machine.instance_type, ".metal");
  if (machine.on_ec2 && !metal) {
    findings.Ok("iommu", "a virtual machine: IOMMU and ACS are its host's");
    return;
  }
  const auto parameters = machine.files.Read("/proc/cmdline");
  const bool passes = parameters.ok() && absl::StrContains(*parameters, "iommu=pt");
  if (machine.files.List("/sys/class/iommu").empty()) {
    findings.Ok("iommu", "no IOMMU is on");
  } else {
    findings.Info("iommu",
                  absl::StrCat("an IOMMU is on", passes ? ", and passes devices' addresses" : "",
                               ": bytes between GPU and NIC of one switch may take the way by "
                               "the CPU"),
                  "where gpuloc shows them on one switch and GPU transfers are slow: iommu=pt on "
                  "the kernel's command line, and ACS off on the switch (setpci)");
  }
}

void CheckHwloc(const MachineFacts& machine, Findings& findings) {
  const auto copies =
      FindLibrary(machine.files, machine.Variable("LD_LIBRARY_PATH"), "libhwloc.so.15");
  if (LoadedCopy(copies) != nullptr) {
    findings.Ok("hwloc", absl::StrCat("hwloc 2 (", BaseName(LoadedCopy(copies)->file), ")"));
  } else {
    findings.Info("hwloc", "no hwloc 2: gpuloc and affinity cannot look at this machine",
                  "apt-get install libhwloc-dev, or `dnf install hwloc-devel`, and build again");
  }
}

}  // namespace

void CheckMachine(const MachineFacts& machine, Findings& findings) {
  if (!machine.on_ec2) {
    findings.Info("instance",
                  "no EC2 instance, or its name cannot be read (/sys/devices/virtual/dmi)");
  } else {
    findings.Ok(
        "instance",
        absl::StrCat(machine.instance_type.empty() ? "an EC2 instance" : machine.instance_type,
                     machine.instance_id.empty() ? "" : ", " + machine.instance_id,
                     machine.profile == nullptr
                         ? "; its limits are not known here"
                         : absl::StrCat("; simulated by --profile=", machine.profile->name)));
  }
  if (!machine.container.empty()) {
    findings.Info("container", absl::StrCat("this is a container (", machine.container,
                                            "): what it may use was decided when it was started"));
  }
}

void CheckPlaces(const MachineFacts& machine, Findings& findings) {
  CheckNuma(machine, findings);
  CheckPcie(machine, findings);
  CheckIommu(machine, findings);
  CheckHwloc(machine, findings);
}

void CheckNetwork(Findings& findings) {
  findings.Info("security-group",
                "cannot be seen from here: the security group has to allow all traffic from itself "
                "and to itself; an outbound rule to 0.0.0.0/0 does not cover EFA",
                "two rules, inbound and outbound, of the type All traffic, whose source and "
                "destination is the group's own id; without them, completions fail with status 15 "
                "or 13");
  findings.Info("subnet",
                "cannot be seen from here: EFA reaches machines of the same availability zone, and "
                "does not go through routers",
                "start all machines in one subnet, best in one cluster placement group");
}

}  // namespace drydock::apps::doctor
