// The NICs of a world are found by their index and by their GID, in this process and beyond it.

#include "drydock/sim/device/nic_table.h"

#include <cstdint>

#include "drydock/sim/device/nic_state.h"
#include "drydock/sim/device/surroundings.h"
#include "drydock/sim/efa_address.h"
#include "drydock/sim/random.h"
#include "drydock/sim/testing/bare_device.h"
#include "gtest/gtest.h"

namespace drydock::sim {
namespace {

using sim_testing::Bench;
using sim_testing::BenchNic;

constexpr Gid kStranger{0xfe, 0x80, 0x77};

// Knows one NIC by any GID.
class Neighbours final : public NicDirectory {
 public:
  explicit Neighbours(NicState& nic) : nic_(nic) {}

  NicState* Find(const Gid&) override {
    ++asked;
    return &nic_;
  }

  std::uint32_t asked = 0;

 private:
  NicState& nic_;
};

TEST(NicTableTest, NicIsFoundByItsIndexAndByItsGid) {
  Bench bench;
  const BenchNic& a = bench.AddNic();
  const BenchNic& b = bench.AddNic();
  ASSERT_EQ(bench.nics.size(), 2u);
  EXPECT_EQ(&bench.nics[0], &a.state);
  EXPECT_EQ(&bench.nics[1], &b.state);
  EXPECT_EQ(bench.nics.Find(a.state.gid), &a.state);
  EXPECT_EQ(bench.nics.Find(b.state.gid), &b.state);
  EXPECT_EQ(bench.nics.Find(kStranger), nullptr);
}

TEST(NicTableTest, NeighboursAreAskedForWhatTheTableLacksAndForNothingElse) {
  Bench bench;
  const BenchNic& a = bench.AddNic();
  Bench elsewhere;
  BenchNic& far = elsewhere.AddNic();
  Neighbours neighbours(far.state);
  bench.nics.UseNeighbours(&neighbours);
  EXPECT_EQ(bench.nics.Find(a.state.gid), &a.state);
  EXPECT_EQ(neighbours.asked, 0u);
  EXPECT_EQ(bench.nics.Find(kStranger), &far.state);
  EXPECT_EQ(neighbours.asked, 1u);
  bench.nics.UseNeighbours(nullptr);
  EXPECT_EQ(bench.nics.Find(kStranger), nullptr);
}

TEST(NicTableTest, IndexAndGidAreUnique) {
  Bench bench;
  BenchNic& a = bench.AddNic();
  EXPECT_DEATH(bench.nics.Enter(a.state), "in the order of their index");
  NicTable other;
  other.Enter(a.state);
  NicState twin(1, 1, "twin", a.state.gid, bench.profile, RandomStream(1, Subsystem::kKeys, 1, 0));
  EXPECT_DEATH(other.Enter(twin), "two NICs have one GID");
}

}  // namespace
}  // namespace drydock::sim
