#include "drydock/apps/gpuloc/report.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/topology/topology_of.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace drydock::apps::gpuloc {
namespace {

using ::drydock::gpu::topology::Machine;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

MachineChoice Profile(const char* name) {
  return {sim::TopologyOf(**sim::FindProfile(name)), absl::StrCat("profile ", name)};
}

// A NIC that hangs on nothing that is known, and no GPU.
MachineChoice OneNic() {
  Machine machine;
  machine.cpus = {0, 1, 2, 3};
  machine.nics = {{.name = "rdmap0s6", .pci_address = "0000:00:06.0"}};
  return {machine, "file x.xml"};
}

// ---- Text ----

TEST(ReportTest, TheTreeHasEveryDeviceBelowItsSwitch) {
  EXPECT_THAT(FormatReport(Profile("small")), HasSubstr(R"(
NUMA node 0: CPUs 0-3
  switch 0000:45:00.0 on host bridge 0000:[44-53], 15.8 GB/s to the CPU
    GPU 0  0000:53:00.0  simulated GPU
    NIC 0  0000:4f:00.0  rdmap79s0      15.8 GB/s
NUMA node 1: CPUs 4-7
  switch 0000:89:00.0 on host bridge 0000:[88-97], 15.8 GB/s to the CPU
    GPU 1  0000:97:00.0  simulated GPU
    NIC 1  0000:93:00.0  rdmap147s0     15.8 GB/s
)"));
}

// 32 NICs are 8 columns.
TEST(ReportTest, NicsThatAreAlikeShareAColumnOfTheMatrix) {
  const std::string text = FormatReport(Profile("p5"));
  EXPECT_THAT(text, ContainsRegex("\n +NIC 0-3 +NIC 4-7 +NIC 8-11 .* NIC 28-31\n"));
  EXPECT_THAT(text, ContainsRegex("\nGPU 1 +node +switch +node +node +other.* other\n"));
  EXPECT_THAT(text,
              ContainsRegex("\n +7 +NVIDIA H100 +28-31 +same switch +28-31 +84-95,180-191\n"));
}

TEST(ReportTest, GpusThatShareASwitchDivideItsNics) {
  const std::string text = FormatReport(Profile("p5en"));
  EXPECT_THAT(text, ContainsRegex("\n +0 +NVIDIA H200 +0-3 +same switch +0-1 +0-11,96-107\n"));
  EXPECT_THAT(text, ContainsRegex("\n +1 +NVIDIA H200 +0-3 +same switch +2-3 +12-23,108-119\n"));
}

TEST(ReportTest, NicsThatAreNearestToNoGpuAreNamed) {
  MachineChoice choice = Profile("p4d");
  EXPECT_THAT(FormatReport(choice), Not(HasSubstr("No GPU has NIC")));
  choice.machine.nics[1].bridge = -1;
  choice.machine.gpus.resize(2);
  EXPECT_THAT(FormatReport(choice), HasSubstr("\nNo GPU has NIC 1-3 among its nearest.\n"));
}

TEST(ReportTest, WhatAMachineLacksIsSaid) {
  EXPECT_EQ(FormatReport(OneNic()), R"(from     file x.xml
has      0 GPUs, 1 NIC with RDMA, 4 CPUs

NIC 0  0000:00:06.0  rdmap0s6

There are no pairs of a GPU and a NIC: this machine has no GPU.

NIC  name      nearest CPUs  its share
---  --------  ------------  ---------
  0  rdmap0s6  0-3           0-3
)");
  MachineChoice choice = Profile("p5");
  choice.machine.nics.clear();
  EXPECT_THAT(FormatReport(choice),
              AllOf(HasSubstr("this machine has no NIC with RDMA."), HasSubstr("GPU 7  ")));
  EXPECT_THAT(FormatReport({Machine(), "this machine"}),
              HasSubstr("this machine has no GPU and no NIC with RDMA."));
}

// ---- JSON ----

TEST(JsonTest, HoldsEverything) {
  const Json json = Json::parse(FormatJson(Profile("p4d")));
  EXPECT_EQ(json["machine"], "p4d.24xlarge");
  EXPECT_EQ(json["source"], "profile p4d");
  EXPECT_EQ(json["cpus"], "0-95");
  EXPECT_EQ(json["numa_nodes"][1],
            Json({{"number", 1}, {"cpus", "24-47,72-95"}, {"memory_bytes", 0}}));
  EXPECT_EQ(json["bridges"][3], Json({{"kind", "host bridge"},
                                      {"parent", -1},
                                      {"upstream_port", ""},
                                      {"buses", "0000:[a0-a0]"},
                                      {"numa_node", 1},
                                      {"upstream_gbytes_per_s", 0.0}}));
  EXPECT_EQ(json["nics"][1], Json({{"index", 1},
                                   {"name", "rdmap32s27"},
                                   {"pci_address", "0000:20:1b.0"},
                                   {"vendor_device_id", "1d0f:efa0"},
                                   {"bridge", 1},
                                   {"numa_node", 0},
                                   {"pcie_gbytes_per_s", 15.75},
                                   {"nearest_cpus", "0-23,48-71"},
                                   {"cpus", "12-23,60-71"}}));
  EXPECT_EQ(json["gpus"][7], Json({{"index", 7},
                                   {"name", "NVIDIA A100"},
                                   {"pci_address", "0000:a0:1d.0"},
                                   {"vendor_device_id", "10de:20b0"},
                                   {"bridge", 3},
                                   {"numa_node", 1},
                                   {"pcie_gbytes_per_s", 0.0},
                                   {"nearest_nics", {3}},
                                   {"locality", "same host bridge"},
                                   {"nics", {3}}}));
  ASSERT_EQ(json["localities"].size(), 8u);
  EXPECT_EQ(json["localities"][7], Json({"other", "other", "same NUMA node", "same host bridge"}));
}

TEST(JsonTest, WhatIsNotThereIsEmpty) {
  const Json json = Json::parse(FormatJson({Machine(), "file \xff.xml"}));
  EXPECT_EQ(json["source"], "file \xef\xbf\xbd.xml");
  for (const char* list : {"numa_nodes", "bridges", "gpus", "nics", "localities"}) {
    EXPECT_EQ(json[list], Json::array()) << list;
  }
}

}  // namespace
}  // namespace drydock::apps::gpuloc
