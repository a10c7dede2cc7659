#include "drydock/apps/common/machine_choice.h"

#include <cstddef>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "drydock/gpu/topology/hwloc_xml.h"
#include "drydock/gpu/topology/locality.h"
#include "drydock/sim/topology/topology_of.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::apps {
namespace {

using ::drydock::gpu::topology::Device;
using ::drydock::gpu::topology::FormatCpuList;
using ::drydock::gpu::topology::Locality;
using ::drydock::gpu::topology::Machine;
using ::drydock::gpu::topology::NearNics;
using ::drydock::testing_matchers::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string WriteFile(const std::string& name, const std::string& text) {
  std::ofstream(absl::StrCat(::testing::TempDir(), "/", name)) << text;
  return absl::StrCat(::testing::TempDir(), "/", name);
}

Machine Profile(const char* name) { return sim::TopologyOf(**sim::FindProfile(name)); }

// ---- Profiles ----

// Every place is there, and is that of the profile.
TEST(MachineOfTest, EveryProfileIsAMachine) {
  for (const sim::Profile& profile : sim::Profiles()) {
    const Machine machine = sim::TopologyOf(profile);
    ASSERT_EQ(machine.nics.size(), profile.nics.size()) << profile.name;
    ASSERT_EQ(machine.gpus.size(), profile.gpus.size()) << profile.name;
    EXPECT_EQ(machine.numa_nodes.size(), profile.numa_cpus.size()) << profile.name;
    std::size_t cpus = 0;
    for (const auto& node : machine.numa_nodes) {
      EXPECT_FALSE(node.cpus.empty()) << profile.name;
      cpus += node.cpus.size();
    }
    EXPECT_EQ(machine.cpus.size(), cpus) << profile.name;
    for (std::size_t gpu = 0; gpu < machine.gpus.size(); ++gpu) {
      for (std::size_t nic = 0; nic < machine.nics.size(); ++nic) {
        const int node = profile.gpus[gpu].numa_node;
        const int below = profile.gpus[gpu].pcie_switch;
        const bool near = below >= 0 && below == profile.nics[nic].pcie_switch;
        const bool same_node = node >= 0 && node == profile.nics[nic].numa_node;
        const Locality locality = LocalityOf(machine, machine.gpus[gpu], machine.nics[nic]);
        EXPECT_EQ(locality <= Locality::kSameHostBridge, near) << profile.name << gpu << nic;
        EXPECT_EQ(locality <= Locality::kSameNumaNode, same_node) << profile.name << gpu << nic;
      }
    }
  }
}

// As ai-dynamo/nixl recorded it (test/unit/utils/libfabric/topo/p5.48xl-topo.xml).
TEST(MachineOfTest, P5IsAsItWasRecorded) {
  const Machine p5 = Profile("p5");
  EXPECT_EQ(p5.name, "p5.48xlarge");
  EXPECT_EQ(FormatCpuList(p5.numa_nodes[1].cpus), "48-95,144-191");
  for (int gpu = 0; gpu < 8; ++gpu) {
    const std::vector<int> nics = {4 * gpu, 4 * gpu + 1, 4 * gpu + 2, 4 * gpu + 3};
    EXPECT_EQ(NearestNics(p5, p5.gpus[gpu]), (NearNics{Locality::kSameSwitch, nics}));
    EXPECT_EQ(PairNics(p5)[gpu], nics);
  }
  ASSERT_THAT(p5.bridges, SizeIs(16));
  EXPECT_EQ(p5.bridges[15].upstream_port, "0000:bc:00.0");
  EXPECT_EQ(p5.bridges[15].upstream_gbytes_per_s, 15.75);
  EXPECT_EQ(p5.nics[0].pcie_gbytes_per_s, 15.75);
}

TEST(MachineOfTest, OnP4dTwoGpusShareANicOfTheirHostBridge) {
  const Machine p4d = Profile("p4d");
  for (int gpu = 0; gpu < 8; ++gpu) {
    EXPECT_EQ(NearestNics(p4d, p4d.gpus[gpu]), (NearNics{Locality::kSameHostBridge, {gpu / 2}}));
    EXPECT_THAT(PairNics(p4d)[gpu], ElementsAre(gpu / 2));
  }
  EXPECT_EQ(p4d.bridges[0].buses, "0000:[10-10]");
}

TEST(MachineOfTest, OnP5enTwoGpusDivideFourNics) {
  const Machine p5en = Profile("p5en");
  EXPECT_THAT(NearestNics(p5en, p5en.gpus[3]).nics, ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(PairNics(p5en)[2], ElementsAre(4, 5));
  EXPECT_THAT(PairNics(p5en)[3], ElementsAre(6, 7));
}

// ---- Choosing ----

TEST(ChooseMachineTest, AProfileIsNamed) {
  ASSERT_OK_AND_ASSIGN(const MachineChoice choice, ChooseMachine("profile:p5.48xlarge"));
  EXPECT_EQ(choice.source, "profile p5");
  EXPECT_THAT(choice.machine.gpus, SizeIs(8));
}

TEST(ChooseMachineTest, AFileIsThePathOfOne) {
  const std::string xml = gpu::topology::WriteHwlocXml(Profile("p6-b200"));
  const std::string path = WriteFile("machine.xml", xml);
  ASSERT_OK_AND_ASSIGN(const MachineChoice choice, ChooseMachine(path));
  EXPECT_EQ(choice.source, "file " + path);
  EXPECT_EQ(gpu::topology::WriteHwlocXml(choice.machine), xml);
}

TEST(ChooseMachineTest, WhatDoesNotExistIsNamed) {
  EXPECT_THAT(ChooseMachine("profile:p9"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no profile 'p9': there are small")));
  EXPECT_THAT(ChooseMachine("/no/such.xml"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("--topology=/no/such.xml: no such")));
  EXPECT_THAT(ChooseMachine(::testing::TempDir()),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("not a file that can be read")));
  const std::string path = WriteFile("damaged.xml", "<topology>\n<object>");
  EXPECT_THAT(ChooseMachine(path),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       absl::StrCat("--topology=", path, ": line 2: <object> has no end")));
}

#ifdef DRYDOCK_HAVE_HWLOC
TEST(ChooseMachineTest, ThisMachineIsTheDefault) {
  ASSERT_OK_AND_ASSIGN(const MachineChoice choice, ChooseMachine(""));
  EXPECT_EQ(choice.source, "this machine");
  EXPECT_FALSE(choice.machine.cpus.empty());
}
#else
TEST(ChooseMachineTest, WithoutHwlocThisMachineIsNotToBeSeen) {
  EXPECT_THAT(ChooseMachine(""),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("install libhwloc-dev")));
}
#endif

}  // namespace
}  // namespace drydock::apps
