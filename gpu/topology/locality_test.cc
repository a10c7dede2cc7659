#include "drydock/gpu/topology/locality.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::gpu::topology {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Device On(int bridge, int numa_node = 0) { return {.bridge = bridge, .numa_node = numa_node}; }

// Two host bridges of node 0; below the first, switch 2, and below that, switches 3 and 4.
Machine TwoLevels() {
  Machine machine;
  machine.numa_nodes = {{.number = 0, .cpus = {0, 1, 2, 3}}, {.number = 1, .cpus = {4, 5, 6, 7}}};
  machine.cpus = {0, 1, 2, 3, 4, 5, 6, 7};
  machine.bridges = {{.buses = "0000:[10-2f]"},
                     {.buses = "0000:[30-4f]"},
                     {.parent = 0, .upstream_port = "0000:11:00.0"},
                     {.parent = 2, .upstream_port = "0000:13:00.0"},
                     {.parent = 2, .upstream_port = "0000:21:00.0"}};
  return machine;
}

TEST(LocalityTest, FromNearToFar) {
  const Machine machine = TwoLevels();
  EXPECT_EQ(LocalityOf(machine, On(3), On(3)), Locality::kSameSwitch);
  EXPECT_EQ(LocalityOf(machine, On(3), On(4)), Locality::kSameSwitch);
  EXPECT_EQ(LocalityOf(machine, On(3), On(0)), Locality::kSameHostBridge);
  EXPECT_EQ(LocalityOf(machine, On(3), On(1)), Locality::kSameNumaNode);
  EXPECT_EQ(LocalityOf(machine, On(-1), On(1)), Locality::kSameNumaNode);
  EXPECT_EQ(LocalityOf(machine, On(1), On(-1, 1)), Locality::kOther);
  EXPECT_EQ(LocalityOf(machine, On(-1, -1), On(-1, -1)), Locality::kOther);
}

TEST(LocalityTest, OfTwoSharedSwitchesTheLowerCounts) {
  Machine machine = TwoLevels();
  machine.nics = {On(2), On(4), On(3), On(1)};
  EXPECT_EQ(NearestNics(machine, On(3)), (NearNics{Locality::kSameSwitch, {2}}));
  EXPECT_EQ(NearestNics(machine, On(0)), (NearNics{Locality::kSameHostBridge, {0, 1, 2}}));
  EXPECT_EQ(NearestNics(machine, On(-1, 1)), (NearNics{Locality::kOther, {0, 1, 2, 3}}));
}

// p5en: two GPUs and four NICs on a switch. p4d: two GPUs, one NIC.
TEST(PairNicsTest, GpusWithTheSameNicsShareThem) {
  Machine machine = TwoLevels();
  machine.gpus = {On(3), On(3), On(4), On(4)};
  machine.nics = {On(3), On(3), On(3), On(3), On(4)};
  EXPECT_THAT(PairNics(machine),
              ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3), ElementsAre(4), ElementsAre(4)));
}

TEST(PairNicsTest, UnevenSharesDifferByOne) {
  Machine machine = TwoLevels();
  machine.gpus = {On(3), On(3)};
  machine.nics = {On(3), On(3), On(3)};
  EXPECT_THAT(PairNics(machine), ElementsAre(ElementsAre(0), ElementsAre(1, 2)));
  machine.gpus = {On(3), On(3), On(3)};
  machine.nics = {On(3), On(3)};
  EXPECT_THAT(PairNics(machine), ElementsAre(ElementsAre(0), ElementsAre(0), ElementsAre(1)));
}

// The GPUs of node 1 have only the other node's NICs; those of node 0 are not asked to make room.
TEST(PairNicsTest, FarGpusShareAmongThemselves) {
  Machine machine = TwoLevels();
  machine.gpus = {On(-1, 0), On(-1, 0), On(-1, 1), On(-1, 1)};
  machine.nics = {On(-1, 0), On(-1, 0)};
  EXPECT_THAT(PairNics(machine),
              ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(0), ElementsAre(1)));
}

TEST(PairNicsTest, WithoutNicsGpusHaveNone) {
  Machine machine = TwoLevels();
  machine.gpus = {On(3)};
  EXPECT_THAT(PairNics(machine), ElementsAre(IsEmpty()));
}

TEST(ShareCpusTest, NicsOfANodeShareItsCpus) {
  Machine machine = TwoLevels();
  machine.nics = {On(3, 0), On(4, 0), On(-1, 1), On(-1, -1)};
  EXPECT_THAT(ShareCpus(machine),
              ElementsAre(CpuList{0, 1}, CpuList{2, 3}, CpuList{4, 5, 6, 7}, machine.cpus));
}

}  // namespace
}  // namespace drydock::gpu::topology
