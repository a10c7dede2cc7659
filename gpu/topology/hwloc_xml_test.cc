// Machines in the shapes in which hwloc recorded them on EC2 (the files are ai-dynamo/nixl's
// test/unit/utils/libfabric/topo and aws/aws-ofi-nccl's tests/unit/fixtures/topology), each with
// the fewest devices that show what is special about it.

#include "drydock/gpu/topology/hwloc_xml.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "drydock/gpu/topology/locality.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::gpu::topology {
namespace {

using ::drydock::testing_matchers::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// ---- XML as hwloc writes it ----

std::string Object(const std::string& attributes, const std::string& inner) {
  return absl::StrCat("<object ", attributes, " gp_index=\"1\">\n", inner, "</object>\n");
}

std::string Info(const std::string& name, const std::string& value) {
  return absl::StrCat("<info name=\"", name, "\" value=\"", value, "\"/>\n");
}

std::string Pci(const std::string& address, const std::string& type, const std::string& inner) {
  return Object(absl::StrCat("type=\"PCIDev\" pci_busid=\"", address, "\" pci_type=\"", type,
                             "\" pci_link_speed=\"15.753846\""),
                Info("PCISlot", "1-1") + inner);
}

std::string OpenFabrics(const std::string& name) {
  return Object(absl::StrCat("type=\"OSDev\" name=\"", name, "\" osdev_type=\"3\""), "");
}

std::string Efa(const std::string& address, const std::string& name) {
  return Pci(address, "0200 [1d0f:efa1] [1d0f:efa1] 00",
             Info("PCIDevice", "Elastic Fabric Adapter (EFA)") + OpenFabrics(name));
}

std::string H100(const std::string& address) {
  return Pci(address, "0302 [10de:2330] [10de:16c1] a1", "");
}

std::string Ena(const std::string& address) {
  return Pci(address, "0200 [1d0f:ec20] [1d0f:ec20] 00",
             Object("type=\"OSDev\" name=\"enp71s0\" osdev_type=\"2\"", ""));
}

std::string PciBridge(const std::string& port, const std::string& speed, const std::string& inner) {
  return Object(absl::StrCat("type=\"Bridge\" bridge_type=\"1-1\" depth=\"1\" ",
                             "bridge_pci=\"0000:[45-54]\" pci_busid=\"", port,
                             "\" pci_type=\"0604 [1d0f:0200] [1d0f:0200] 00\" pci_link_speed=\"",
                             speed, "\""),
                inner);
}

std::string HostBridge(const std::string& buses, const std::string& inner) {
  return Object(
      absl::StrCat("type=\"Bridge\" bridge_type=\"0-1\" depth=\"0\" bridge_pci=\"", buses, "\""),
      inner);
}

// A switch as EC2 shows it: a root port, an upstream port, and a downstream port for each device.
std::string Switch(const std::vector<std::string>& devices) {
  std::string ports;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    ports += PciBridge(absl::StrCat("0000:46:01.", i), "63.015385", devices[i]);
  }
  return PciBridge("0000:44:00.0", "15.753846", PciBridge("0000:45:00.0", "31.507692", ports));
}

std::string NumaNode(int number, const std::string& cpus) {
  return Object(absl::StrCat("type=\"NUMANode\" os_index=\"", number, "\" cpuset=\"", cpus,
                             "\" local_memory=\"1024\""),
                "<page_type size=\"4096\" count=\"1\"/>\n");
}

std::string Package(int number, const std::string& cpus, const std::string& inner) {
  return Object(absl::StrCat("type=\"Package\" os_index=\"", number, "\" cpuset=\"", cpus, "\""),
                NumaNode(number, cpus) + inner);
}

std::string Topology(const std::string& inner) {
  return absl::StrCat(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n",
      "<topology version=\"2.0\">\n",
      Object("type=\"Machine\" os_index=\"0\" cpuset=\"0x000000ff\"", inner), "</topology>\n");
}

Machine Read(const std::string& xml) {
  absl::StatusOr<Machine> machine = ReadHwlocXml(xml);
  EXPECT_TRUE(machine.ok()) << machine.status();
  return machine.ok() ? *std::move(machine) : Machine();
}

std::vector<std::string> Names(const std::vector<Device>& devices) {
  std::vector<std::string> names;
  for (const Device& device : devices) names.push_back(device.name);
  return names;
}

std::string P5() {
  return Topology(
      Info("DMIProductName", "p5.48xlarge") +
      Package(
          0, "0x0000000f",
          HostBridge("0000:[00-00]", Pci("0000:00:03.0", "0300 [1d0f:1111] [0000:0000] 00", "")) +
              HostBridge("0000:[44-54]",
                         Switch({Ena("0000:47:00.0"), Efa("0000:50:00.0", "rdmap80s0"),
                                 Efa("0000:4f:00.0", "rdmap79s0"), H100("0000:53:00.0")}))) +
      Package(1, "0x000000f0",
              HostBridge("0000:[88-98]",
                         Switch({Efa("0000:93:00.0", "rdmap147s0"), H100("0000:97:00.0")}))));
}

// ---- Machines ----

TEST(ReadHwlocXmlTest, ASwitchWithGpuAndNics) {
  const Machine machine = Read(P5());
  EXPECT_EQ(machine.name, "p5.48xlarge");
  EXPECT_EQ(FormatCpuList(machine.cpus), "0-7");
  ASSERT_THAT(machine.numa_nodes, SizeIs(2));
  EXPECT_EQ(machine.numa_nodes[1].number, 1);
  EXPECT_EQ(FormatCpuList(machine.numa_nodes[1].cpus), "4-7");
  EXPECT_EQ(machine.numa_nodes[1].memory_bytes, 1024u);
  EXPECT_THAT(Names(machine.nics), ElementsAre("rdmap79s0", "rdmap80s0", "rdmap147s0"));
  EXPECT_EQ(machine.nics[0].pci_address, "0000:4f:00.0");
  EXPECT_EQ(machine.nics[0].vendor_device_id, "1d0f:efa1");
  EXPECT_EQ(machine.nics[0].numa_node, 0);
  EXPECT_NEAR(machine.nics[0].pcie_gbytes_per_s, 15.75, 0.01);
  ASSERT_THAT(machine.gpus, SizeIs(2));
  EXPECT_EQ(machine.gpus[1].numa_node, 1);
  EXPECT_EQ(NearestNics(machine, machine.gpus[0]), (NearNics{Locality::kSameSwitch, {0, 1}}));
  EXPECT_EQ(NearestNics(machine, machine.gpus[1]), (NearNics{Locality::kSameSwitch, {2}}));
}

// The ports of a switch are no switches, and the root port's link is the narrow one.
TEST(ReadHwlocXmlTest, OnlyBridgesThatTellNearnessAreKept) {
  const Machine machine = Read(P5());
  ASSERT_THAT(machine.bridges, SizeIs(4));
  EXPECT_FALSE(machine.bridges[0].is_switch());
  EXPECT_EQ(machine.bridges[0].buses, "0000:[44-54]");
  EXPECT_EQ(machine.bridges[0].parent, -1);
  EXPECT_EQ(machine.bridges[1].upstream_port, "0000:45:00.0");
  EXPECT_EQ(machine.bridges[1].parent, 0);
  EXPECT_EQ(machine.bridges[1].numa_node, 0);
  EXPECT_NEAR(machine.bridges[1].upstream_gbytes_per_s, 15.75, 0.01);
  EXPECT_EQ(machine.nics[0].bridge, 1);
  EXPECT_EQ(machine.nics[2].bridge, 3);
}

// p4d: no switch can be seen.
TEST(ReadHwlocXmlTest, DevicesRightOnAHostBridge) {
  const Machine machine = Read(Topology(
      Package(0, "0x0f",
              HostBridge("0000:[10-10]", Efa("0000:10:1b.0", "rdmap16s27") + H100("0000:10:1c.0") +
                                             H100("0000:10:1d.0"))) +
      Package(1, "0xf0", HostBridge("0000:[90-90]", Efa("0000:90:1b.0", "rdmap144s27")))));
  for (const Device& gpu : machine.gpus) {
    EXPECT_EQ(NearestNics(machine, gpu), (NearNics{Locality::kSameHostBridge, {0}}));
  }
  EXPECT_THAT(PairNics(machine), ElementsAre(ElementsAre(0), ElementsAre(0)));
  EXPECT_EQ(LocalityOf(machine, machine.gpus[0], machine.nics[1]), Locality::kOther);
}

// One NIC of a switch was moved to the host bridge.
TEST(ReadHwlocXmlTest, ANicBesideTheSwitchIsFurtherAway) {
  const Machine machine =
      Read(Topology(Package(0, "0xff",
                            HostBridge("0000:[44-5c]", Efa("0000:55:00.0", "rdmap85s0") +
                                                           Switch({Efa("0000:56:00.0", "rdmap86s0"),
                                                                   H100("0000:59:00.0")})))));
  EXPECT_EQ(LocalityOf(machine, machine.gpus[0], machine.nics[0]), Locality::kSameHostBridge);
  EXPECT_EQ(NearestNics(machine, machine.gpus[0]), (NearNics{Locality::kSameSwitch, {1}}));
}

// g5 and p3dn: the only NIC is attached to the whole machine, so that its NUMA node is not told.
TEST(ReadHwlocXmlTest, OneNicOfNoNumaNodeServesAllGpus) {
  const Machine machine = Read(
      Topology(Package(0, "0x0f", HostBridge("0000:[10-10]", H100("0000:10:1c.0"))) +
               Package(1, "0xf0", HostBridge("0000:[20-20]", H100("0000:20:1c.0"))) +
               HostBridge("0000:[00-00]", Ena("0000:00:05.0") + Efa("0000:00:06.0", "rdmap0s6"))));
  ASSERT_THAT(machine.nics, SizeIs(1));
  EXPECT_EQ(machine.nics[0].numa_node, -1);
  for (const Device& gpu : machine.gpus) {
    EXPECT_EQ(NearestNics(machine, gpu), (NearNics{Locality::kOther, {0}}));
  }
  EXPECT_THAT(PairNics(machine), ElementsAre(ElementsAre(0), ElementsAre(0)));
  EXPECT_EQ(NearestCpus(machine, machine.nics[0]), machine.cpus);
}

// c5n: one NUMA node, whose NIC hangs on the machine.
TEST(ReadHwlocXmlTest, WithOneNumaNodeEverythingIsOnIt) {
  const Machine machine = Read(Topology(
      Package(0, "0xff", "") + HostBridge("0000:[00-00]", Efa("0000:00:06.0", "rdmap0s6"))));
  EXPECT_THAT(machine.gpus, IsEmpty());
  EXPECT_EQ(machine.nics[0].numa_node, 0);
  EXPECT_THAT(PairNics(machine), IsEmpty());
  EXPECT_THAT(ShareCpus(machine), ElementsAre(SizeIs(8)));
}

// trn2.3xlarge.
TEST(ReadHwlocXmlTest, NeuronDevicesAreGpus) {
  const Machine machine = Read(Topology(Package(
      0, "0xff",
      HostBridge("0000:[24-33]", Switch({Pci("0000:33:00.0", "0880 [1d0f:7364] [0000:0000] 01",
                                             Info("PCIDevice", "NeuronDevice (Trainium2)"))})))));
  EXPECT_THAT(Names(machine.gpus), ElementsAre("NeuronDevice (Trainium2)"));
  EXPECT_THAT(machine.nics, IsEmpty());
  EXPECT_EQ(NearestNics(machine, machine.gpus[0]), NearNics());
  EXPECT_THAT(PairNics(machine), ElementsAre(IsEmpty()));
}

// p6e-gb200: the system addresses the GPUs' memory, as NUMA nodes without CPUs of their own.
TEST(ReadHwlocXmlTest, MemoryOfGpusIsNoNumaNode) {
  const Machine machine = Read(Topology(
      Object("type=\"Package\" os_index=\"60\" cpuset=\"0x0000000f\"",
             NumaNode(0, "0x0000000f") + NumaNode(2, "0x0000000f") + NumaNode(10, "0x0") +
                 HostBridge("0000:[97-9c]",
                            Switch({Efa("0000:9a:00.0", "rdmap154s0"), H100("0000:9c:00.0")}))) +
      Package(1, "0x000000f0", "")));
  ASSERT_THAT(machine.numa_nodes, SizeIs(2));
  EXPECT_EQ(machine.nics[0].numa_node, 0);
  EXPECT_EQ(machine.gpus[0].numa_node, 0);
}

TEST(ReadHwlocXmlTest, OtherVendorsRdmaNicsAreKnownByTheirDriver) {
  const Machine machine = Read(Topology(Package(
      0, "0xff",
      HostBridge("0000:[17-18]",
                 Pci("0000:18:00.0", "0200 [15b3:1021] [15b3:0023] 00", OpenFabrics("mlx5_0")) +
                     Pci("0000:18:00.1", "0200 [15b3:1021] [15b3:0023] 00", "")))));
  EXPECT_THAT(Names(machine.nics), ElementsAre("mlx5_0"));
}

// p6-b200: on the switch of two GPUs, two ports that manage the NVLink switches.
TEST(ReadHwlocXmlTest, BesideEfaOnlyEfaIsANic) {
  const auto management = [](const std::string& address) {
    return Pci(address, "0207 [15b3:1021] [15b3:0087] 00", OpenFabrics("ibp115s0f0"));
  };
  const std::string gpus = H100("0000:75:00.0") + H100("0000:76:00.0");
  const auto machine = [](const std::string& devices) {
    return Read(Topology(Package(0, "0xff", HostBridge("0000:[66-78]", Switch({devices})))));
  };
  const Machine p6 = machine(Efa("0000:71:00.0", "rdmap113s0") + Efa("0000:72:00.0", "rdmap114s0") +
                             management("0000:73:00.0") + management("0000:74:00.0") + gpus);
  EXPECT_THAT(Names(p6.nics), ElementsAre("rdmap113s0", "rdmap114s0"));
  EXPECT_THAT(PairNics(p6), ElementsAre(ElementsAre(0), ElementsAre(1)));
  EXPECT_THAT(machine(management("0000:73:00.0") + gpus).nics, SizeIs(1));
}

// hwloc 3: what an operating system's device is for is bits; 3 is a disk and memory.
TEST(ReadHwlocXmlTest, OperatingSystemDevicesOfHwloc3) {
  const auto device = [](const std::string& name, int type) {
    return Object(absl::StrCat("type=\"OSDev\" name=\"", name, "\" osdev_type=\"", type, "\""), "");
  };
  const std::string connectx = "0200 [15b3:1021] [15b3:0023] 00 02";
  const Machine machine = Read(absl::StrReplaceAll(
      Topology(Package(
          0, "0xff",
          HostBridge(
              "0000:[10-13]",
              Pci("0000:10:00.0", connectx, device("eth0", 16) + device("mlx5_0", 32)) +
                  Pci("0000:11:00.0", connectx, device("hsn0", 48)) +
                  Pci("0000:12:00.0", connectx, device("eth2", 16)) +
                  Pci("0000:13:00.0", "0502 [8086:0d93] [1af4:1100] 01", device("pmem0", 3))))),
      {{"<topology version=\"2.0\">", "<topology version=\"3.0\">"}}));
  EXPECT_THAT(Names(machine.nics), ElementsAre("mlx5_0", "hsn0"));
}

TEST(ReadHwlocXmlTest, AnEfaWithoutADriverHasItsAddressForAName) {
  const Machine machine = Read(
      Topology(Package(0, "0xff", Pci("0000:4F:00.0", "0200 [1d0f:efa2] [1d0f:efa2] 00", ""))));
  EXPECT_THAT(Names(machine.nics), ElementsAre("0000:4f:00.0"));
  EXPECT_EQ(machine.nics[0].bridge, -1);
}

TEST(ReadHwlocXmlTest, TheGpusOwnDriverNamesItBest) {
  const std::string type = "0302 [10de:2330] [10de:16c1] a1";
  const std::string driver = Object("type=\"OSDev\" name=\"opencl0d0\" osdev_type=\"5\"",
                                    Info("GPUModel", "NVIDIA H100 80GB HBM3"));
  const Machine machine = Read(Topology(
      Package(0, "0xff",
              HostBridge("0000:[53-55]",
                         Pci("0000:53:00.0", type, Info("PCIDevice", "GH100 [H100]") + driver) +
                             Pci("0000:54:00.0", type, Info("PCIDevice", "GH100\x1b [H100]")) +
                             H100("0000:55:00.0")))));
  EXPECT_THAT(Names(machine.gpus),
              ElementsAre("NVIDIA H100 80GB HBM3", "GH100? [H100]", "10de:2330"));
}

// In hwloc 1, a NUMA node is around what belongs to it.
TEST(ReadHwlocXmlTest, NumaNodesOfHwloc1) {
  const auto node = [](int number, const std::string& cpus, const std::string& inner) {
    return Object(absl::StrCat("type=\"NUMANode\" os_index=\"", number, "\" cpuset=\"", cpus,
                               "\" local_memory=\"1024\""),
                  inner);
  };
  const Machine machine = Read(absl::StrReplaceAll(
      Topology(node(0, "0x0f", HostBridge("0000:[10-10]", H100("0000:10:1c.0"))) +
               node(1, "0xf0", HostBridge("0000:[90-90]", Efa("0000:90:1b.0", "rdmap144s27")))),
      {{"<topology version=\"2.0\">", "<topology>"}}));
  EXPECT_EQ(machine.gpus[0].numa_node, 0);
  EXPECT_EQ(machine.nics[0].numa_node, 1);
}

TEST(ReadHwlocXmlTest, OneNumaNodeOfHwloc1MayStandForTheMachine) {
  const Machine machine = Read(absl::StrCat(
      "<topology>\n",
      Object("type=\"NUMANode\" os_index=\"0\" cpuset=\"0x3\"",
             Info("DMIProductName", "small") + HostBridge("0000:[00-00]", H100("0000:00:1e.0"))),
      "</topology>\n"));
  EXPECT_EQ(machine.name, "small");
  EXPECT_EQ(FormatCpuList(machine.cpus), "0-1");
  EXPECT_THAT(machine.numa_nodes, SizeIs(1));
  EXPECT_EQ(machine.gpus.at(0).numa_node, 0);
}

// ---- What is no machine ----

TEST(ReadHwlocXmlTest, DamageIsRefusedWithItsLine) {
  const std::pair<std::string, const char*> cases[] = {
      {absl::StrReplaceAll(P5(), {{"0000:53:00.0", "0000:zz"}}), "'0000:zz' is no PCI address"},
      {absl::StrReplaceAll(P5(), {{"0302 [", "0302 ("}}), "is no PCI type"},
      {absl::StrReplaceAll(P5(), {{"0x0000000f", "f...f"}}), "'f...f' is no mask of CPUs"},
      {absl::StrReplaceAll(P5(), {{"type=\"NUMANode\" os_index=\"1\"", "type=\"NUMANode\""}}),
       "a NUMA node without a number"},
      {P5().substr(0, 2000), "line "},
      {"<topology version=\"2.0\">\n</topology>", "line 1: a topology without a machine"},
      {"<html><body/></html>", "line 1: <html> is no topology of hwloc"},
      {"<!-- x --><system version=\"1\"><cpu numaid=\"0\"/></system>", "topology file of NCCL"},
  };
  for (const auto& [xml, message] : cases) {
    EXPECT_THAT(ReadHwlocXml(xml), StatusIs(kInvalid, HasSubstr(message))) << message;
  }
}

TEST(ReadHwlocXmlTest, MessagesAreOneReadableLine) {
  const absl::Status binary =
      ReadHwlocXml(absl::StrCat("<a\x1b[1m", std::string(1000, 'x'), ">")).status();
  EXPECT_THAT(binary, StatusIs(kInvalid, HasSubstr("<a?[1mxxx")));
  EXPECT_LT(binary.message().size(), 200u);
}

// Whatever is broken, the reader says so or reads something; with sanitizers, this test looks for
// more than a crash.
TEST(ReadHwlocXmlTest, EverySingleDamageIsSurvived) {
  const std::string xml = P5();
  for (std::size_t i = 0; i < xml.size(); i += 3) {
    std::string damaged = xml.substr(0, i);
    EXPECT_FALSE(ReadHwlocXml(damaged).ok()) << i;
    damaged += "\"<>/0"[i % 5] + xml.substr(i + 1);
    ReadHwlocXml(damaged).IgnoreError();
  }
}

TEST(ReadHwlocXmlTest, MoreDevicesThanAnyMachineHasAreRefused) {
  std::string devices;
  for (std::size_t i = 0; i <= kMaxOfEach; ++i) devices += H100("0000:53:00.0");
  EXPECT_THAT(ReadHwlocXml(Topology(devices)), StatusIs(kInvalid, HasSubstr("more than 1024")));
}

// ---- Writing ----

TEST(WriteHwlocXmlTest, ReadsBackAsTheSameMachine) {
  const Machine machine = Read(P5());
  const std::string xml = WriteHwlocXml(machine);
  const Machine again = Read(xml);
  EXPECT_EQ(WriteHwlocXml(again), xml);
  EXPECT_EQ(again.name, machine.name);
  EXPECT_EQ(again.cpus, machine.cpus);
  EXPECT_EQ(Names(again.nics), Names(machine.nics));
  EXPECT_EQ(Names(again.gpus), Names(machine.gpus));
  ASSERT_EQ(again.bridges.size(), machine.bridges.size());
  for (std::size_t i = 0; i < machine.bridges.size(); ++i) {
    EXPECT_EQ(again.bridges[i].upstream_port, machine.bridges[i].upstream_port);
    EXPECT_EQ(again.bridges[i].buses, machine.bridges[i].buses);
    EXPECT_EQ(again.bridges[i].parent, machine.bridges[i].parent);
    EXPECT_EQ(again.bridges[i].numa_node, machine.bridges[i].numa_node);
  }
  for (std::size_t i = 0; i < machine.nics.size(); ++i) {
    EXPECT_EQ(again.nics[i].bridge, machine.nics[i].bridge);
    EXPECT_EQ(again.nics[i].numa_node, machine.nics[i].numa_node);
  }
}

TEST(WriteHwlocXmlTest, NamesAreEscaped) {
  Machine machine;
  machine.name = "<R&D> \"1\"";
  EXPECT_EQ(Read(WriteHwlocXml(machine)).name, machine.name);
}

}  // namespace
}  // namespace drydock::gpu::topology
