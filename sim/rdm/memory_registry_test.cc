// The registry, and the lists of buffers whose rights it checks.

#include "drydock/sim/rdm/memory_registry.h"

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "drydock/sim/driver/sim_fabric.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/rdm/scatter_list.h"
#include "drydock/sim/world/world.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::sim::rdm {
namespace {

using fabric::Access;
using fabric::LocalBuffer;
using testing_matchers::StatusIs;

class MemoryRegistryTest : public ::testing::Test {
 protected:
  MemoryRegistry::Region* Add(std::size_t offset, std::size_t length, Access access) {
    return registry_
        .Add({.data = memory_.data() + offset, .length_bytes = length, .access = access})
        .value();
  }

  World world_{1, **FindProfile("small")};
  std::unique_ptr<fabric::Fabric> fabric_ = OpenSimFabric(world_, world_.AddNode("node"));
  std::unique_ptr<fabric::Domain> domain_ = fabric_->OpenDomain(0).value();
  std::vector<std::byte> memory_ = std::vector<std::byte>(10000);
  MemoryRegistry registry_{*domain_, 3};
};

// A device without remote memory access refuses to register for it: the software grants the rights
// that the program asked for.
TEST_F(MemoryRegistryTest, RightsThatTheDeviceLacksAreKeptBySoftware) {
  World world(1, **FindProfile("g5"));
  const auto fabric = OpenSimFabric(world, world.AddNode("node"));
  const auto domain = fabric->OpenDomain(0).value();
  MemoryRegistry registry(*domain, 3);
  const auto* all = registry.Add({.data = memory_.data(), .length_bytes = 100}).value();
  EXPECT_TRUE(registry.Allows(all->device->Local(), Access::kAll));
  EXPECT_TRUE(registry.FindRemote(all->device->remote(), 100, Access::kRemoteWrite).has_value());
  const auto* written =
      registry.Add({.data = memory_.data(), .length_bytes = 100, .access = Access::kRemoteWrite})
          .value();
  EXPECT_FALSE(registry.Allows(written->device->Local(), Access::kRemoteRead));
  EXPECT_TRUE(registry.FindRemote(written->device->remote(), 1, Access::kRemoteWrite).has_value());
  EXPECT_FALSE(registry.FindRemote(written->device->remote(), 1, Access::kRemoteRead).has_value());
}

TEST_F(MemoryRegistryTest, AllowsWhatLiesWithin) {
  const auto* region = Add(1000, 500, Access::kRemoteRead);
  const LocalBuffer all = region->device->Local();
  EXPECT_TRUE(registry_.Allows(all, Access::kSend));
  EXPECT_TRUE(registry_.Allows(all, Access::kSend | Access::kWrite));
  EXPECT_FALSE(registry_.Allows(all, Access::kReceive));
  EXPECT_TRUE(registry_.Allows(Add(2000, 10, Access::kRead)->device->Local(), Access::kReceive));
  LocalBuffer buffer = all;
  buffer.length_bytes += 1;
  EXPECT_FALSE(registry_.Allows(buffer, Access::kSend));
  buffer = all;
  buffer.data -= 1;
  EXPECT_FALSE(registry_.Allows(buffer, Access::kSend));
  buffer = all;
  buffer.length_bytes = SIZE_MAX;
  EXPECT_FALSE(registry_.Allows(buffer, Access::kSend));
  buffer = all;
  buffer.local_key ^= 0x1111;
  EXPECT_FALSE(registry_.Allows(buffer, Access::kSend));
  buffer.length_bytes = 0;  // nothing to protect
  EXPECT_TRUE(registry_.Allows(buffer, Access::kSend));
}

TEST_F(MemoryRegistryTest, RemovedRegionsAllowNothing) {
  auto* region = Add(0, 500, Access::kAll);
  const LocalBuffer buffer = region->device->Local();
  const fabric::RemoteBuffer remote = region->device->remote();
  const std::uint64_t before = registry_.removals();
  registry_.Remove(region);
  EXPECT_FALSE(registry_.Allows(buffer, Access::kSend));
  EXPECT_FALSE(registry_.FindRemote(remote, 1, Access::kRemoteRead).has_value());
  EXPECT_EQ(registry_.removals(), before + 1);
}

TEST_F(MemoryRegistryTest, PeersFindOnlyWhatTheyWereGiven) {
  const auto* region = Add(100, 1000, Access::kRemoteWrite);
  const fabric::RemoteBuffer start = region->device->remote();
  const auto find = [&](std::uint64_t moved, std::uint64_t length, Access access) {
    return registry_.FindRemote({start.address + moved, start.key}, length, access).has_value();
  };
  EXPECT_TRUE(find(0, 1000, Access::kRemoteWrite));
  EXPECT_TRUE(find(1000, 0, Access::kRemoteWrite));
  EXPECT_FALSE(find(0, 1000, Access::kRemoteRead));
  EXPECT_FALSE(find(1, 1000, Access::kRemoteWrite));
  EXPECT_FALSE(find(std::uint64_t{0} - 1, 1, Access::kRemoteWrite));
  EXPECT_FALSE(find(10, UINT64_MAX, Access::kRemoteWrite));
  EXPECT_FALSE(find(10, UINT64_MAX - 9, Access::kRemoteWrite));
  EXPECT_FALSE(
      registry_.FindRemote({start.address, start.key + 1}, 1, Access::kRemoteWrite).has_value());
  const auto found = registry_.FindRemote({start.address + 7, start.key}, 5, Access::kRemoteWrite);
  EXPECT_EQ(found->data, memory_.data() + 107);
  EXPECT_TRUE(registry_.Allows(*found, Access::kRemoteWrite));
}

TEST_F(MemoryRegistryTest, RegionsCanRunOut) {
  for (int i = 0; i < 3; ++i) Add(0, 10, Access::kAll);
  EXPECT_THAT(registry_.Add({.data = memory_.data(), .length_bytes = 10}).status(),
              StatusIs(absl::StatusCode::kResourceExhausted));
}

// A borrowed registration opens one range, for its own time, and ends with its region.
TEST_F(MemoryRegistryTest, BorrowedRegionsEndWithTheirs) {
  auto* region = Add(0, 1000, Access::kSend);
  const auto borrowed = registry_.Borrow(region->device->Local(100, 200), Access::kRemoteRead);
  ASSERT_NE(borrowed, nullptr);
  EXPECT_EQ(borrowed->data(), memory_.data() + 100);
  EXPECT_EQ(borrowed->length_bytes(), 200u);
  EXPECT_NE(borrowed->remote().key, region->device->remote().key);
  // It is the device's, and no right that packets could use.
  EXPECT_FALSE(registry_.FindRemote(borrowed->remote(), 1, Access::kRemoteRead).has_value());
  EXPECT_EQ(registry_.Borrow({memory_.data() + 990, 20, region->device->local_key()},
                             Access::kRemoteRead),
            nullptr);
  const LocalBuffer gone = region->device->Local();
  registry_.Remove(region);
  EXPECT_EQ(registry_.Borrow(gone, Access::kRemoteRead), nullptr);
}

// --- Lists ---

class ScatterListTest : public MemoryRegistryTest {
 protected:
  // 10, 0, 20 and 30 bytes that do not touch each other.
  ScatterList Four(Access access = Access::kSend | Access::kReceive) {
    const auto* region = Add(0, 1000, access);
    more_ = {region->device->Local(100, 0), region->device->Local(200, 20),
             region->device->Local(300, 30)};
    return ScatterList(region->device->Local(0, 10), more_);
  }
  std::vector<LocalBuffer> more_;
};

TEST_F(ScatterListTest, PiecesAndParts) {
  const ScatterList list = Four();
  EXPECT_EQ(list.length(), 60u);
  EXPECT_EQ(list.PieceAt(9).data, memory_.data() + 9);
  EXPECT_EQ(list.PieceAt(10).data, memory_.data() + 200);
  EXPECT_EQ(list.PieceAt(31).length_bytes, 29u);
  const ScatterList part = list.Sub(5, 30);
  ASSERT_EQ(part.segments().size(), 3u);
  EXPECT_EQ(part.length(), 30u);
  EXPECT_EQ(part.segments()[2].data, memory_.data() + 300);
  EXPECT_EQ(part.segments()[2].length_bytes, 5u);
  EXPECT_EQ(list.Sub(50, 1000).length(), 10u);
  EXPECT_EQ(list.Sub(60, 10).length(), 0u);
}

TEST_F(ScatterListTest, CopiesInAndOut) {
  const ScatterList list = Four();
  std::vector<std::byte> bytes(40);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i + 1);
  EXPECT_TRUE(list.CopyIn(registry_, Access::kReceive, 5, bytes));
  EXPECT_EQ(memory_[5], std::byte{1});
  EXPECT_EQ(memory_[10], std::byte{0});
  EXPECT_EQ(memory_[200], std::byte{6});
  EXPECT_EQ(memory_[314], std::byte{40});
  EXPECT_EQ(memory_[315], std::byte{0});
  std::vector<std::byte> back(40);
  EXPECT_TRUE(list.CopyOut(registry_, Access::kSend, 5, back));
  EXPECT_EQ(back, bytes);
}

TEST_F(ScatterListTest, WhatIsNotAllowedIsNotTouched) {
  const ScatterList source = Four(Access::kSend);
  std::vector<std::byte> bytes(60, std::byte{7});
  EXPECT_FALSE(source.CopyIn(registry_, Access::kRead, 0, bytes));
  EXPECT_FALSE(source.CopyOut(registry_, Access::kRemoteRead, 0, bytes));
  const ScatterList list = Four();
  EXPECT_EQ(bytes, std::vector<std::byte>(60, std::byte{7}));
  more_[2].local_key ^= 0x1111;
  const ScatterList bad(list.segments()[0], more_);
  EXPECT_FALSE(bad.CopyIn(registry_, Access::kReceive, 0, bytes));  // nothing of it
  EXPECT_EQ(memory_, std::vector<std::byte>(10000));
  EXPECT_TRUE(bad.CopyIn(registry_, Access::kReceive, 0, std::span(bytes).first(30)));
}

}  // namespace
}  // namespace drydock::sim::rdm
