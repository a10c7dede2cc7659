// Whole machines: a healthy one, and the same with one thing broken, which must be found, and
// nothing else.

#include "drydock/apps/doctor/examination.h"

#include <sys/stat.h>

#include <cctype>
#include <functional>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "drydock/apps/doctor/finding.h"
#include "drydock/apps/doctor/probes.h"
#include "drydock/apps/doctor/report.h"
#include "drydock/apps/doctor/system_files.h"
#include "drydock/apps/doctor/testing/fake_machine.h"
#include "drydock/sim/profile/profile.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::apps::doctor {
namespace {

using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Diagnosis ExamineTree(const FakeMachine& machine, Probes* probes = nullptr,
                      const ExaminationOptions& options = {}) {
  const SystemFiles files(machine.root());
  Diagnosis diagnosis = Examine(files, probes, options);
  for (const Finding& finding : diagnosis.findings) {
    EXPECT_FALSE(finding.what.empty()) << finding.check;
    if (finding.severity >= Severity::kWarning) {
      EXPECT_FALSE(finding.fix.empty()) << finding.check << " has no fix: " << finding.what;
    }
  }
  return diagnosis;
}

// Warnings and worse.
std::vector<Finding> Troubles(const Diagnosis& diagnosis) {
  std::vector<Finding> troubles;
  for (const Finding& finding : diagnosis.findings) {
    if (finding.severity >= Severity::kWarning) troubles.push_back(finding);
  }
  return troubles;
}

std::string Describe(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    absl::StrAppend(&text, NameOf(finding.severity), " ", finding.check, ": ", finding.what, "\n");
  }
  return text;
}

const Finding* FindCheck(const Diagnosis& diagnosis, const std::string& check) {
  for (const Finding& finding : diagnosis.findings) {
    if (finding.check == check) return &finding;
  }
  return nullptr;
}

TEST(DoctorTest, HealthyInstancesAreFine) {
  for (const sim::Profile& machine : sim::Profiles()) {
    if (machine.name == "small") continue;  // no instance
    const std::string& profile = machine.name;
    const Diagnosis diagnosis = ExamineTree(FakeMachine::Healthy(profile));
    EXPECT_EQ(ExitStatusOf(diagnosis), 0) << profile << "\n" << Describe(Troubles(diagnosis));
    for (const char* check :
         {"instance", "efa-nics", "efa-driver", "rdma-devices", "device-nodes", "rdma-core",
          "libfabric", "symbol-versions", "locked-memory", "huge-pages", "fork", "ptrace-scope",
          "environment", "gpu-driver", "gpu-peer-memory", "numa", "pcie", "hwloc"}) {
      const bool of_gpus = absl::StartsWith(check, "gpu-") || check == std::string("pcie");
      if (of_gpus && machine.gpus.empty()) continue;
      const Finding* const finding = FindCheck(diagnosis, check);
      ASSERT_NE(finding, nullptr) << profile << " " << check;
      EXPECT_EQ(finding->severity, Severity::kOk) << profile << " " << finding->what;
    }
    EXPECT_THAT(diagnosis.findings, Contains(Field(&Finding::check, "security-group")));
    EXPECT_THAT(FindCheck(diagnosis, "instance")->what,
                HasSubstr("simulated by --profile=" + profile));
  }
}

TEST(DoctorTest, AHealthyP5IsDescribed) {
  const Diagnosis diagnosis = ExamineTree(FakeMachine::Healthy("p5"));
  EXPECT_EQ(diagnosis.instance_type, "p5.48xlarge");
  EXPECT_EQ(FindCheck(diagnosis, "efa-nics")->what, "32 EFA NICs (0xefa1)");
  EXPECT_EQ(FindCheck(diagnosis, "instance")->what,
            "p5.48xlarge, i-0123456789abcdef0; simulated by --profile=p5");
  EXPECT_EQ(FindCheck(diagnosis, "pcie")->what, "8 GPUs, each with 4 NICs below the same bridge");
  EXPECT_EQ(FindCheck(diagnosis, "huge-pages")->what,
            "5000 of 5128 huge pages of 2048 kB are free");
  EXPECT_THAT(FindCheck(diagnosis, "libfabric")->what,
              HasSubstr("libfabric 2.4 (/opt/amazon/efa/lib/libfabric.so.1, through ld.so.conf)"));
}

TEST(DoctorTest, AGpuWithOneNicHasNoNics) {
  const Diagnosis diagnosis = ExamineTree(FakeMachine::Healthy("g5"));
  EXPECT_EQ(FindCheck(diagnosis, "pcie")->what, "8 GPUs, each with 1 NIC below the same bridge");
}

// A write through efa-direct needs the device's, rdma-core's and libfabric's.
TEST(DoctorTest, TheFirstTransferIsOneThatTheMachineCanDo) {
  const auto next = [](const FakeMachine& machine) { return FormatText(ExamineTree(machine), {}); };
  EXPECT_THAT(next(FakeMachine::Healthy("p5")), HasSubstr("//apps/write -- --provider=efa-direct"));
  for (const char* profile : {"p4d", "c5n", "c7gn"}) {
    EXPECT_THAT(next(FakeMachine::Healthy(profile)), HasSubstr("//apps/write -- --provider=efa on"))
        << profile;
  }
  const FakeMachine old_libfabric = FakeMachine::Healthy("p5");
  old_libfabric.Edit("/opt/amazon/efa/lib/pkgconfig/libfabric.pc", "2.4", "1.22");
  EXPECT_THAT(next(old_libfabric), HasSubstr("//apps/info -- --provider=efa\n"));
}

struct Case {
  std::string name;
  std::function<void(const FakeMachine&)> break_it;
  std::string check;
  Severity severity;
  std::string words;      // of the finding
  std::string fix_words;  // of its fix
};

// For the messages of GoogleTest.
void PrintTo(const Case& broken, std::ostream* stream) { *stream << broken.name; }

void SetVariables(const FakeMachine& machine, const std::vector<std::string>& variables) {
  std::string text;
  for (const std::string& variable : variables) {
    text += variable;
    text += '\0';
  }
  machine.Write("/proc/self/environ", text);
}

constexpr char kVerbs[] = "/dev/infiniband/";
constexpr char kFirstNic[] = "/sys/bus/pci/devices/0000:10:1b.0";

// Of the files of a p4d, which has the fewest NICs.
std::vector<Case> NicCases() {
  const Severity cannot = Severity::kCannot, warning = Severity::kWarning;
  return {
      {"missing driver", [](const FakeMachine& m) { m.Remove("/sys/module/efa"); }, "efa-driver",
       cannot, "not loaded", "efa_installer.sh"},
      {"old driver", [](const FakeMachine& m) { m.Write("/sys/module/efa/version", "1.13.0\n"); },
       "efa-driver", warning, "1.13.0 has no RDMA write", "install"},
      {"garbled driver version",
       [](const FakeMachine& m) { m.Write("/sys/module/efa/version", "\x01\x02garbage\xff\n"); },
       "efa-driver", warning, "'??garbage?'", "install"},
      {"no ib_uverbs", [](const FakeMachine& m) { m.Remove("/sys/module/ib_uverbs"); }, "ib-uverbs",
       cannot, "not loaded", "modprobe ib_uverbs"},
      {"OFED", [](const FakeMachine& m) { m.Folder("/sys/module/mlx_compat"); }, "other-rdma",
       warning, "Mellanox", "remove"},
      {"a NIC not attached", [](const FakeMachine& m) { m.Remove(kFirstNic); }, "efa-nics", warning,
       "3 EFA NICs of the 4 that a p4d.24xlarge can have", "attach"},
      {"a NIC without RDMA device",
       [](const FakeMachine& m) { m.Remove("/sys/class/infiniband/rdmap16s27"); }, "rdma-devices",
       cannot, "0000:10:1b.0", "dmesg"},
      {"a port that is down",
       [](const FakeMachine& m) {
         m.Write("/sys/class/infiniband/rdmap16s27/ports/1/state", "1: DOWN\n");
       },
       "rdma-devices", cannot, "not active of 0000:10:1b.0", "dmesg"},
      {"device files lacking",
       [](const FakeMachine& m) { m.Remove(absl::StrCat(kVerbs, "uverbs3")); }, "device-nodes",
       cannot, "/dev/infiniband/uverbs3 is not there", "udev"},
      {"container without device files",
       [](const FakeMachine& m) {
         m.Write("/.dockerenv", "");
         m.Remove("/dev/infiniband");
       },
       "device-nodes", cannot, "this is a container (docker) that was not given them",
       "--device=/dev/infiniband/uverbs0"},
      {"pod without device files",
       [](const FakeMachine& m) {
         SetVariables(m, {"KUBERNETES_SERVICE_HOST=10.0.0.1"});
         m.Remove("/dev/infiniband");
       },
       "device-nodes", cannot, "uverbs3 are not there", "vpc.amazonaws.com/efa"},
      {"container with some device files",
       [](const FakeMachine& m) {
         m.Write("/.dockerenv", "");
         m.Remove(absl::StrCat(kVerbs, "uverbs3"));
       },
       "device-nodes", warning, "programs find 3 of the 4 NICs", "--device=/dev/infiniband"},
      {"device file that cannot be opened",
       [](const FakeMachine& m) {
         m.Remove("/dev/infiniband/uverbs0");
         m.Folder("/dev/infiniband/uverbs0");
       },
       "device-nodes", cannot, "1 device file cannot be opened", "0666"},
      {"no interrupts",
       [](const FakeMachine& m) { m.Remove(absl::StrCat(kFirstNic, "/msi_irqs/41")); },
       "interrupts", warning, "0000:10:1b.0", "poll"},
  };
}

std::vector<Case> LibraryCases() {
  const Severity cannot = Severity::kCannot, warning = Severity::kWarning;
  return {
      {"no rdma-core",
       [](const FakeMachine& m) { m.Remove("/usr/lib/x86_64-linux-gnu/libefa.so.1"); }, "rdma-core",
       cannot, "no libefa.so.1", "install"},
      {"no libfabric", [](const FakeMachine& m) { m.Remove("/opt/amazon"); }, "libfabric", cannot,
       "no libfabric.so.1", "/opt/amazon/efa/lib"},
      {"libfabric where the loader does not look",
       [](const FakeMachine& m) { m.Remove("/etc/ld.so.conf.d/000_efa.conf"); }, "libfabric",
       cannot, "the loader does not look there", "LD_LIBRARY_PATH"},
      {"libfabric without efa",
       [](const FakeMachine& m) {
         m.Write("/opt/amazon/efa/lib/libfabric.so.1", FakeElf({"libfabric.so.1", {"libc.so.6"}}));
       },
       "libfabric", cannot, "no provider efa", "install"},
      {"libfabric cut off",
       [](const FakeMachine& m) {
         const char* const file = "/opt/amazon/efa/lib/libfabric.so.1";
         m.Write(file, m.Content(file).substr(0, 80));
       },
       "libfabric", cannot, "no shared library", "install"},
      {"version mix",
       [](const FakeMachine& m) {
         m.InstallRdmaCore("58", {"EFA_1.0", "EFA_1.1"}, {});
       },
       "symbol-versions", cannot, "asks libefa.so.1 for EFA_1.4", "--skip-kmod"},
      {"a distribution's libfabric first",
       [](const FakeMachine& m) {
         m.InstallLibfabric("/usr/lib/x86_64-linux-gnu", "2.1.0", "EFA_1.0");
         m.Write("/etc/ld.so.conf.d/000_efa.conf", "");
       },
       "libfabric-copies", warning, "hides the EFA installer's", "LD_LIBRARY_PATH"},
      {"two libfabrics in a process",
       [](const FakeMachine& m) {
         m.Write(
             "/proc/self/maps",
             "7f00-7f01 r-xp 0 00:00 1   /opt/amazon/efa/lib/libfabric.so.1.99.0\n"
             "7f02-7f03 r-xp 0 00:00 2   /venv/site-packages/nixl.libs/libfabric-1a2b.so.1.2\n");
       },
       "libfabric-loaded", warning, "2 libfabrics in its memory", "keep one"},
  };
}

std::vector<Case> SystemCases() {
  const Severity cannot = Severity::kCannot, warning = Severity::kWarning;
  const auto lock = [](const char* limit) {
    return [limit](const FakeMachine& m) {
      m.Edit("/proc/self/limits", "unlimited            unlimited", limit);
    };
  };
  const auto set = [](std::vector<std::string> variables) {
    return [variables](const FakeMachine& m) { SetVariables(m, variables); };
  };
  const auto on_old_kernel = [](std::vector<std::string> variables) {
    return [variables](const FakeMachine& m) {
      m.Write("/proc/sys/kernel/osrelease", "5.10.0-23\n");
      SetVariables(m, variables);
    };
  };
  return {
      {"64 KiB to lock", lock("65536 65536"), "locked-memory", cannot, "only 64 KiB", "limits.d"},
      {"8 MiB to lock", lock("8388608 8388608"), "locked-memory", warning, "8 MiB may be locked",
       "limits.d"},
      {"garbled limits", lock("lots of it"), "locked-memory", warning, "cannot be read", "ulimit"},
      {"64 KiB to lock in a container",
       [lock](const FakeMachine& m) {
         lock("65536 65536")(m);
         m.Write("/run/.containerenv", "");
       },
       "locked-memory", cannot, "in this container", "--ulimit memlock=-1:-1"},
      {"a capability of a user namespace of its own",
       [lock](const FakeMachine& m) {
         lock("65536 65536")(m);
         m.Edit("/proc/self/status", "CapEff:\t0000000000000000", "CapEff:\t000001ffffffffff");
         m.Write("/proc/self/uid_map", "         0       1000          1\n");
       },
       "locked-memory", cannot, "only 64 KiB", "limits.d"},
      {"no huge pages",
       [](const FakeMachine& m) {
         m.Edit("/proc/meminfo", "HugePages_Total:    5128", "HugePages_Total:       0");
       },
       "huge-pages", warning, "no huge pages are reserved", "nr_hugepages"},
      {"no huge pages, which are of 1 GiB",
       [](const FakeMachine& m) {
         m.Edit("/proc/meminfo", "HugePages_Total:    5128", "HugePages_Total:       0");
         m.Edit("/proc/meminfo", "   2048 kB", "1048576 kB");
       },
       "huge-pages", warning, "no huge pages are reserved", "default_hugepagesz=2M"},
      {"all huge pages taken",
       [](const FakeMachine& m) {
         m.Edit("/proc/meminfo", "HugePages_Free:     5000", "HugePages_Free: 0");
       },
       "huge-pages", warning, "all 5128 huge pages are taken", "nr_hugepages"},
      {"no huge pages in a pod",
       [](const FakeMachine& m) {
         m.Write("/proc/1/cgroup", "0::/kubepods.slice/pod1\n");
         m.Write("/sys/fs/cgroup/hugetlb.2MB.max", "0\n");
       },
       "huge-pages", warning, "this container may use none", "hugepages-2Mi"},
      {"small /dev/shm in a pod",
       [](const FakeMachine& m) {
         m.Write("/proc/1/cgroup", "0::/kubepods.slice/pod1\n");
         m.Write("/sys/fs/cgroup/hugetlb.2MB.max", "max\n");
         m.Write("/proc/self/mounts", "shm /dev/shm tmpfs rw,nosuid,size=65536k 0 0\n");
       },
       "shared-memory", warning, "64 MiB", "emptyDir"},
      {"small /dev/shm",
       [](const FakeMachine& m) {
         m.Write("/proc/self/mounts", "shm /dev/shm tmpfs rw,nosuid,size=65536k 0 0\n");
       },
       "shared-memory", warning, "64 MiB", "remount"},
      {"ptrace scope 2",
       [](const FakeMachine& m) { m.Write("/proc/sys/kernel/yama/ptrace_scope", "2\n"); },
       "ptrace-scope", warning, "ptrace_scope is 2", "FI_EFA_ENABLE_SHM_TRANSFER=0"},
      {"old kernel",
       [](const FakeMachine& m) { m.Write("/proc/sys/kernel/osrelease", "5.10.0-23\n"); }, "fork",
       warning, "older than 5.13", "FI_EFA_FORK_SAFE=1"},
      {"huge pages and forks", on_old_kernel({"FI_EFA_USE_HUGE_PAGE=1", "RDMAV_FORK_SAFE=0"}),
       "fork", cannot, "RDMAV_FORK_SAFE and FI_EFA_USE_HUGE_PAGE:", "unset"},
      {"huge pages in another word, and forks",
       on_old_kernel({"FI_EFA_USE_HUGE_PAGE=True", "RDMAV_FORK_SAFE=0"}), "fork", cannot,
       "RDMAV_FORK_SAFE and FI_EFA_USE_HUGE_PAGE:", "unset"},
      {"RDMAV_HUGEPAGES_SAFE", on_old_kernel({"RDMAV_HUGEPAGES_SAFE=1", "FI_EFA_FORK_SAFE=1"}),
       "fork", cannot, "refuses", "unset"},
      {"no fork support asked for", on_old_kernel({"RDMAV_HUGEPAGES_SAFE=1"}), "fork", warning,
       "older than 5.13", "FI_EFA_FORK_SAFE=1"},
      {"a variable that aborts", set({"FI_EFA_MTU_SIZE=8000"}), "environment", cannot,
       "FI_EFA_MTU_SIZE", "unset"},
      {"no credits", set({"FI_EFA_TX_MIN_CREDITS=0"}), "environment", cannot, "must be positive",
       "unset"},
      {"empty credits", set({"FI_EFA_TX_MIN_CREDITS="}), "environment", cannot, "must be positive",
       "unset"},
      {"no NIC of that name", set({"FI_EFA_IFACE=eth0"}), "environment", cannot, "names no NIC",
       "unset"},
      {"another provider", set({"FI_PROVIDER=tcp;ofi_rxm"}), "environment", cannot,
       "leaves efa out", "unset"},
      {"not this provider", set({"FI_PROVIDER=^efa"}), "environment", cannot, "leaves efa out",
       "unset"},
      {"neither yes nor no", set({"FI_EFA_USE_DEVICE_RDMA=maybe"}), "environment", cannot,
       "neither 0 nor 1", "unset"},
      {"no peer-to-peer", set({"FI_HMEM_DISABLE_P2P=1"}), "environment", warning,
       "keeps GPU memory", "unset"},
  };
}

void LoseDmabuf(const FakeMachine& machine) {
  machine.Edit("/proc/driver/nvidia/version", "NVIDIA UNIX Open Kernel Module for", "NVIDIA UNIX");
}

std::vector<Case> GpuAndPlaceCases() {
  const Severity warning = Severity::kWarning;
  return {
      {"no GPU driver", [](const FakeMachine& m) { m.Remove("/proc/driver"); }, "gpu-driver",
       warning, "8 NVIDIA GPUs, and no driver", "install"},
      {"no GPU peer memory",
       [](const FakeMachine& m) {
         LoseDmabuf(m);
         for (const std::string& file : m.Files()) {
           if (absl::EndsWith(file, "/p2p")) m.Write(file, "\n");
         }
       },
       "gpu-peer-memory", warning, "no NVIDIA's open kernel module", "efa_nv_peermem"},
      {"a driver that efa is too old for",
       [](const FakeMachine& m) {
         m.Edit("/proc/driver/nvidia/version", "570.86.15", "580.65.06");
         m.Write("/sys/module/efa/version", "2.15.0\n");
       },
       "gpu-driver", warning, "needs efa 2.17.3", "newest"},
      {"NICs without a node",
       [](const FakeMachine& m) { m.Write(absl::StrCat(kFirstNic, "/numa_node"), "-1\n"); }, "numa",
       warning, "does not report the node of a NIC", "affinity"},
      {"CPUs of the wrong node",
       [](const FakeMachine& m) {
         m.Edit("/proc/self/status", "Cpus_allowed_list:\t0-1023", "Cpus_allowed_list:\t0-23");
       },
       "numa", warning, "no CPU of NUMA node 1", "taskset"},
  };
}

class BrokenMachineTest : public ::testing::TestWithParam<Case> {};

TEST_P(BrokenMachineTest, IsFoundAndNothingElse) {
  const Case& broken = GetParam();
  const FakeMachine machine = FakeMachine::Healthy("p4d");
  broken.break_it(machine);
  const Diagnosis diagnosis = ExamineTree(machine);
  const std::vector<Finding> troubles = Troubles(diagnosis);
  ASSERT_THAT(troubles, SizeIs(1)) << Describe(troubles);
  EXPECT_EQ(troubles[0].check, broken.check);
  EXPECT_EQ(troubles[0].severity, broken.severity);
  EXPECT_THAT(troubles[0].what, HasSubstr(broken.words));
  EXPECT_THAT(troubles[0].fix, HasSubstr(broken.fix_words));
  EXPECT_EQ(ExitStatusOf(diagnosis), broken.severity == Severity::kCannot ? 2 : 1);
}

std::string NameOfCase(const ::testing::TestParamInfo<Case>& info) {
  std::string name;
  for (const char c : info.param.name)
    name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Nics, BrokenMachineTest, ::testing::ValuesIn(NicCases()), NameOfCase);
INSTANTIATE_TEST_SUITE_P(Libraries, BrokenMachineTest, ::testing::ValuesIn(LibraryCases()),
                         NameOfCase);
INSTANTIATE_TEST_SUITE_P(System, BrokenMachineTest, ::testing::ValuesIn(SystemCases()), NameOfCase);
INSTANTIATE_TEST_SUITE_P(Gpus, BrokenMachineTest, ::testing::ValuesIn(GpuAndPlaceCases()),
                         NameOfCase);

TEST(DoctorTest, AnOldLibfabricAndRdmaCoreLackWhatTheyLack) {
  const FakeMachine machine = FakeMachine::Healthy("p4d");
  machine.InstallRdmaCore("44", {"EFA_1.0", "EFA_1.1", "EFA_1.2"}, {"efadv_query_device"});
  machine.InstallLibfabric("/opt/amazon/efa/lib", "1.17.0", "EFA_1.2");
  const Diagnosis diagnosis = ExamineTree(machine);
  EXPECT_EQ(ExitStatusOf(diagnosis), 1) << Describe(Troubles(diagnosis));
  EXPECT_THAT(FindCheck(diagnosis, "libfabric")->what,
              ::testing::AllOf(HasSubstr("libfabric 1.17"), HasSubstr("dmabuf (1.20)"),
                               HasSubstr("efa-direct (2.1)")));
  EXPECT_THAT(FindCheck(diagnosis, "rdma-core")->what,
              ::testing::AllOf(HasSubstr("rdma-core 44.0"), HasSubstr("no RDMA write")));
  // The module is left to GPU memory.
  EXPECT_THAT(FindCheck(diagnosis, "gpu-peer-memory")->what,
              HasSubstr("by NVIDIA peermem; for dmabuf there is no libfabric 1.20"));
}

TEST(DoctorTest, WhatIsNoTroubleIsNotCalledOne) {
  const FakeMachine machine = FakeMachine::Healthy("p4d");
  machine.Edit("/proc/self/limits", "unlimited            unlimited", "65536 65536");
  machine.Edit("/proc/self/status", "CapEff:\t0000000000000000", "CapEff:\t0000000000004000");
  machine.Write("/proc/self/uid_map", "         0          0 4294967295\n");
  machine.Write("/proc/sys/kernel/yama/ptrace_scope", "1\n");
  SetVariables(machine,
               {"FI_EFA_ENABLE_SHM_TRANSFER=0", "FI_PROVIDER=efa", "RDMAV_FORK_SAFE=1",
                "RDMAV_HUGEPAGES_SAFE=1", "FI_EFA_USE_HUGE_PAGE=1", "FI_EFA_IFACE=rdmap16s27"});
  machine.Write("/sys/class/infiniband/rdmap16s27/ports/1/hw_counters/rx_drops", "17\n");
  const Diagnosis diagnosis = ExamineTree(machine);
  EXPECT_EQ(ExitStatusOf(diagnosis), 0) << Describe(Troubles(diagnosis));
  EXPECT_THAT(FindCheck(diagnosis, "locked-memory")->what, HasSubstr("CAP_IPC_LOCK"));
  EXPECT_THAT(FindCheck(diagnosis, "fork")->what, HasSubstr("RDMAV_FORK_SAFE is not needed"));
  EXPECT_THAT(FindCheck(diagnosis, "counters")->what, HasSubstr("rx_drops 17"));
}

// libfabric reads it as a number, so that every word turns it off.
TEST(DoctorTest, TransfersInSharedMemoryAreOnByANumberAlone) {
  const FakeMachine machine = FakeMachine::Healthy("p4d");
  machine.Write("/proc/sys/kernel/yama/ptrace_scope", "1\n");
  const auto severity = [&](const std::string& value) {
    SetVariables(machine, {"FI_EFA_ENABLE_SHM_TRANSFER=" + value});
    return FindCheck(ExamineTree(machine), "ptrace-scope")->severity;
  };
  for (const char* off : {"0", "0x0", "false", "yes", ""}) {
    EXPECT_EQ(severity(off), Severity::kInfo) << off;
  }
  for (const char* on : {"1", "0x1"}) EXPECT_EQ(severity(on), Severity::kWarning) << on;
}

// FI_EFA_USE_DEVICE_RDMA: guides set it for p4d, and job scripts take it to other machines.
TEST(DoctorTest, WhatLibfabricAbortsForIsReadAsItReadsIt) {
  for (const auto& [profile, words, severity] :
       {std::tuple("c5n", "FI_EFA_USE_DEVICE_RDMA=1", Severity::kCannot),
        {"c5n", "FI_EFA_USE_DEVICE_RDMA=off", Severity::kOk},
        {"c5n", "FI_EFA_TX_MIN_CREDITS=0x20", Severity::kOk},
        {"p4d", "FI_EFA_USE_DEVICE_RDMA=1", Severity::kOk}}) {
    const FakeMachine machine = FakeMachine::Healthy(profile);
    SetVariables(machine, {words});
    const Diagnosis diagnosis = ExamineTree(machine);
    const Finding& finding = *FindCheck(diagnosis, "environment");
    EXPECT_EQ(finding.severity, severity) << profile << ": " << finding.what;
    if (severity == Severity::kOk) continue;
    EXPECT_THAT(finding.what, HasSubstr("do not have: libfabric aborts"));
  }
}

TEST(DoctorTest, HugePagesThatNobodyUsesNeedNotBeGranted) {
  const FakeMachine machine = FakeMachine::Healthy("p4d");
  machine.Write("/run/.containerenv", "");
  machine.Write("/sys/fs/cgroup/hugetlb/hugetlb.2MB.limit_in_bytes", "0\n");
  EXPECT_EQ(FindCheck(ExamineTree(machine), "huge-pages")->severity, Severity::kWarning);
  SetVariables(machine, {"FI_EFA_USE_HUGE_PAGE=0"});
  EXPECT_EQ(FindCheck(ExamineTree(machine), "huge-pages")->severity, Severity::kOk);
}

// A pod on a p5 that asked for one GPU, four NICs and CPUs near them.
TEST(DoctorTest, APodMayHaveSomeOfTheNics) {
  const FakeMachine machine = FakeMachine::Healthy("p5");
  SetVariables(machine, {"KUBERNETES_SERVICE_HOST=10.0.0.1"});
  for (int i = 4; i < 32; ++i) machine.Remove(absl::StrCat(kVerbs, "uverbs", i));
  machine.Edit("/proc/self/status", "Cpus_allowed_list:\t0-1023", "Cpus_allowed_list:\t0-11");
  const Diagnosis diagnosis = ExamineTree(machine);
  EXPECT_EQ(ExitStatusOf(diagnosis), 0) << Describe(Troubles(diagnosis));
  EXPECT_EQ(FindCheck(diagnosis, "device-nodes")->what,
            "programs find 4 of the 32 NICs: this container (kubernetes) was given the device "
            "files of those");
  EXPECT_EQ(FindCheck(diagnosis, "numa")->what, "2 NUMA nodes, NICs on 1");
  // The first NIC of the other node.
  SetVariables(machine, {"KUBERNETES_SERVICE_HOST=10.0.0.1", "FI_EFA_IFACE=rdmap147s0"});
  EXPECT_EQ(FindCheck(ExamineTree(machine), "environment")->severity, Severity::kCannot);
}

TEST(DoctorTest, AnotherProcessIsLookedAtWithItsOwnLimits) {
  const FakeMachine machine = FakeMachine::Healthy("p4d");
  for (const char* file : {"environ", "limits", "status", "maps", "mounts"}) {
    machine.Write(absl::StrCat("/proc/4711/", file),
                  machine.Content(absl::StrCat("/proc/self/", file)));
  }
  machine.Edit("/proc/4711/limits", "unlimited            unlimited", "65536 65536");
  ExaminationOptions options;
  options.process = 4711;
  machine.Remove("/proc/4711/environ");
  EXPECT_EQ(FindCheck(ExamineTree(machine, nullptr, options), "environment")->severity,
            Severity::kInfo);
  EXPECT_EQ(ExitStatusOf(ExamineTree(machine, nullptr, options)), 2);
  EXPECT_EQ(ExitStatusOf(ExamineTree(machine)), 0);
}

TEST(DoctorTest, WithoutANicItSaysWhatToDo) {
  const FakeMachine laptop;
  laptop.Write("/proc/self/limits", "Max locked memory  65536  65536  bytes\n");
  const Diagnosis diagnosis = ExamineTree(laptop);
  EXPECT_EQ(ExitStatusOf(diagnosis), 2);
  EXPECT_TRUE(diagnosis.shortened);
  EXPECT_EQ(FindCheck(diagnosis, "locked-memory"), nullptr);
  const std::string text = FormatText(diagnosis, {});
  for (const char* words : {"//apps/write\n", "--provider=tcp", "efa-run", "docs/tutorial.md",
                            "docs/efa-instance.md", "--all looks at it too"}) {
    EXPECT_THAT(text, HasSubstr(words));
  }
  ExaminationOptions everything;
  everything.everything = true;
  EXPECT_NE(FindCheck(ExamineTree(laptop, nullptr, everything), "locked-memory"), nullptr);
  ExaminationOptions limits;
  limits.only = {Group::kLimits};
  for (const Finding& finding : ExamineTree(laptop, nullptr, limits).findings) {
    EXPECT_EQ(finding.group, Group::kLimits) << finding.check;
  }
}

TEST(DoctorTest, AnInstanceWithoutNicsIsToldToAttachThem) {
  const FakeMachine machine = FakeMachine::Healthy("p4d");
  machine.Remove("/sys/bus");
  const Diagnosis diagnosis = ExamineTree(machine);
  EXPECT_EQ(FindCheck(diagnosis, "efa-nics")->what, "no EFA NIC on this p4d.24xlarge");
}

// ---- What is answered by running things ----

class FakeProbes final : public Probes {
 public:
  absl::StatusOr<LibfabricAnswer> AskLibfabric(const std::string& file) override {
    asked = file;
    return libfabric;
  }
  absl::StatusOr<std::vector<DeviceAnswer>> AskDevices(const std::string& libibverbs,
                                                       const std::string& libefa) override {
    asked_rdma_core = libibverbs + " " + libefa;
    return devices;
  }
  absl::StatusOr<CudaAnswer> AskCuda() override { return cuda; }

  std::string asked;
  std::string asked_rdma_core;
  absl::StatusOr<std::vector<DeviceAnswer>> devices =
      std::vector<DeviceAnswer>{{"rdmap79s0", true, 0x1b, 1 << 30}};
  absl::StatusOr<LibfabricAnswer> libfabric =
      LibfabricAnswer{{2, 4, 0}, {{"efa-direct", "rdmap79s0-rdm"}, {"efa", "rdmap79s0-rdm"}}, 0};
  absl::StatusOr<CudaAnswer> cuda = CudaAnswer{{12, 8, 0}, {{"NVIDIA H100", true, true}}, 0, 201};
};

TEST(DoctorTest, ProbesThatSucceedAreReported) {
  FakeProbes probes;
  const Diagnosis diagnosis = ExamineTree(FakeMachine::Healthy("p4d"), &probes);
  EXPECT_EQ(ExitStatusOf(diagnosis), 0) << Describe(Troubles(diagnosis));
  EXPECT_EQ(probes.asked, "/opt/amazon/efa/lib/libfabric.so.1");
  EXPECT_EQ(FindCheck(diagnosis, "provider")->what,
            "libfabric 2.4 offers 1 domains of efa-direct, 1 of efa");
  EXPECT_EQ(FindCheck(diagnosis, "gpu-dmabuf")->what, "CUDA 12.8 exports dmabufs of NVIDIA H100");
  EXPECT_THAT(FindCheck(diagnosis, "gpu-context")->what,
              HasSubstr("gets error 201 (CUDA_ERROR_INVALID_CONTEXT)"));
}

TEST(DoctorTest, ProbesThatFailAreFindings) {
  const FakeMachine machine = FakeMachine::Healthy("p4d");
  FakeProbes crashing;
  crashing.libfabric = absl::AbortedError("it ends its process: Aborted");
  crashing.cuda = absl::DeadlineExceededError("it does not answer");
  Diagnosis diagnosis = ExamineTree(machine, &crashing);
  EXPECT_EQ(FindCheck(diagnosis, "provider")->severity, Severity::kCannot);
  EXPECT_THAT(FindCheck(diagnosis, "provider")->what, HasSubstr("it ends its process: Aborted"));
  EXPECT_EQ(FindCheck(diagnosis, "gpu-dmabuf")->severity, Severity::kWarning);

  FakeProbes empty;
  empty.libfabric->offers.clear();
  empty.libfabric->error = -61;
  empty.cuda->export_with_context = 801;
  diagnosis = ExamineTree(machine, &empty);
  EXPECT_THAT(FindCheck(diagnosis, "provider")->what, HasSubstr("offers no NIC"));
  EXPECT_THAT(FindCheck(diagnosis, "gpu-dmabuf")->what, HasSubstr("error 801"));

  FakeProbes old;
  old.libfabric->offers = {{"efa", "rdmap79s0-rdm"}};
  EXPECT_EQ(FindCheck(ExamineTree(machine, &old), "provider")->severity, Severity::kWarning);
}

TEST(DoctorTest, CapabilitiesOfTheNicsAreNamed) {
  const FakeMachine machine = FakeMachine::Healthy("p4d");
  FakeProbes probes;
  Diagnosis diagnosis = ExamineTree(machine, &probes);
  EXPECT_EQ(probes.asked_rdma_core,
            "/usr/lib/x86_64-linux-gnu/libibverbs.so.1 /usr/lib/x86_64-linux-gnu/libefa.so.1");
  EXPECT_EQ(
      FindCheck(diagnosis, "capabilities")->what,
      "the NIC has RDMA read, RDMA write, receiver-not-ready retry, unsolicited write receive; "
      "not: CQs that tell an unknown sender's GID, CQs in a dmabuf, completion counters");
  probes.devices = {{"rdmap16s27", true, 1, 0}, {"rdmap32s27", false, 0, 0}};
  diagnosis = ExamineTree(machine, &probes);
  EXPECT_THAT(FindCheck(diagnosis, "capabilities")->what,
              HasSubstr("the NIC has RDMA read; not: "));
  EXPECT_THAT(FormatText(diagnosis, {}), HasSubstr("cannot be opened, and asked: rdmap32s27"));
  probes.devices = absl::AbortedError("it ends its process: Aborted");
  diagnosis = ExamineTree(machine, &probes);
  EXPECT_EQ(FindCheck(diagnosis, "capabilities")->severity, Severity::kWarning);
}

TEST(DoctorTest, AnIommuMattersOnBareMetal) {
  FakeMachine machine = FakeMachine::Healthy("p5");
  machine.Folder("/sys/class/iommu/dmar0");
  EXPECT_EQ(FindCheck(ExamineTree(machine), "iommu")->severity, Severity::kOk);
  machine.Edit("/sys/devices/virtual/dmi/id/product_name", ".48xlarge", ".metal-48xl");
  EXPECT_EQ(FindCheck(ExamineTree(machine), "iommu")->severity, Severity::kInfo);
  machine.Remove("/sys/class/iommu/dmar0");
  EXPECT_EQ(FindCheck(ExamineTree(machine), "iommu")->what, "no IOMMU is on");
}

// ---- Files of any kind ----

// Whatever stands where a file was, the report is made, of printable characters.
void ExpectSomeReport(const FakeMachine& machine, const std::string& what) {
  const std::string text = FormatText(ExamineTree(machine), {});
  for (const char c : text) {
    ASSERT_TRUE(c == '\n' || std::isprint(static_cast<unsigned char>(c))) << what << "\n" << text;
  }
}

TEST(DoctorTest, EveryFileMayBeMissingGarbledHugeOrNoFile) {
  const FakeMachine machine = FakeMachine::Healthy("small");
  const std::string huge(SystemFiles::kMaxText + 1, '7');
  int replaced = 0;
  for (const std::string& file : machine.Files()) {  // of two NICs that are alike, of the first
    struct stat found {};
    const std::string host = machine.root() + file;
    ASSERT_EQ(lstat(host.c_str(), &found), 0) << file;
    if (!S_ISREG(found.st_mode) || absl::StrContains(file, "0000:93:00.0")) continue;
    ++replaced;
    const std::string content = machine.Content(file);
    for (const std::string& text : {std::string(), std::string("\x1b[31m\xff\0\n\x01", 9), huge,
                                    std::string("-9223372036854775809\n")}) {
      machine.Write(file, text);
      ExpectSomeReport(machine, file);
    }
    machine.Remove(file);
    ExpectSomeReport(machine, file + " missing");
    machine.Folder(file);
    ExpectSomeReport(machine, file + " a folder");
    machine.Remove(file);
    ASSERT_EQ(mkfifo(host.c_str(), 0600), 0) << file;
    ExpectSomeReport(machine, file + " a pipe");
    machine.Remove(file);
    machine.Link(file, BaseName(file));
    ExpectSomeReport(machine, file + " a link to itself");
    machine.Remove(file);
    machine.Write(file, content);
  }
  EXPECT_GT(replaced, 25);
  ExpectSomeReport(machine, "as it was");
}

}  // namespace
}  // namespace drydock::apps::doctor
