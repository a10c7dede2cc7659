// Registering memory: which requests are accepted, and the properties of a region.

#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "drydock/testing/contract/contract_test.h"

namespace drydock::contract {
namespace {

using fabric::Access;
using fabric::DmabufHandle;
using fabric::ErrorCode;
using fabric::MemoryRegion;
using ::testing::AnyOf;
using testing_matchers::IsOk;
using testing_matchers::StatusIs;

class RegistrationContract : public ContractTest {
 protected:
  absl::Status Try(const fabric::MemoryRequest& request) {
    return target_.domain->RegisterMemory(request).status();
  }
};

TEST_F(RegistrationContract, RegionTellsWhatWasRegistered) {
  constexpr Access kRights = Access::kRemoteRead | Access::kSend;
  auto region = Register(target_, 100, 5000, kRights);
  EXPECT_EQ(region->data(), target_.memory.data() + 100);
  EXPECT_EQ(region->length_bytes(), 5000u);
  EXPECT_EQ(region->access(), kRights);
  const fabric::LocalBuffer part = region->Local(10, 20);
  EXPECT_EQ(part.data, target_.memory.data() + 110);
  EXPECT_EQ(part.length_bytes, 20u);
  EXPECT_EQ(part.local_key, region->local_key());
}

TEST_F(RegistrationContract, EmptyRangeIsRefused) {
  EXPECT_THAT(Try({.data = target_.memory.data(), .length_bytes = 0}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(Try({}), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(RegistrationContract, NullRangeIsRefused) {
  EXPECT_THAT(Try({.data = nullptr, .length_bytes = 100}),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

// No memory is like that: the caller has a bug, or an attacker's number.
TEST_F(RegistrationContract, RangeThatWrapsAroundIsRefused) {
  EXPECT_THAT(
      Try({.data = target_.memory.data(), .length_bytes = std::numeric_limits<std::size_t>::max()}),
      StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(RegistrationContract, DmabufThatIsNoFileIsRefused) {
  EXPECT_THAT(Try({.data = target_.memory.data(),
                   .length_bytes = 4096,
                   .dmabuf = DmabufHandle{.fd = -1, .offset_bytes = 0}}),
              AnyOf(StatusIs(absl::StatusCode::kUnimplemented),
                    StatusIs(absl::StatusCode::kInvalidArgument)));
}

TEST_F(RegistrationContract, SmallestRegionIsOneByte) {
  auto region = Register(target_, 17, 1, Access::kRemoteWrite);
  Fill(Bytes(initiator_, 0, 1), 3);
  ASSERT_EQ(Write(0, 1, region->remote(), 1, 1), ErrorCode::kOk);
  EXPECT_TRUE(TakeRemoteWrite(target_).ok());
  EXPECT_TRUE(Holds(Bytes(target_, 17, 1), 3));
}

TEST_F(RegistrationContract, OpenRegionsHaveDifferentKeys) {
  std::vector<std::unique_ptr<MemoryRegion>> regions;
  std::set<std::uint64_t> keys;
  for (std::size_t i = 0; i < 200; ++i) {
    regions.push_back(Register(target_, i * 100, 100, Access::kAll));
    keys.insert(regions.back()->remote().key);
  }
  EXPECT_EQ(keys.size(), regions.size());
}

TEST_F(RegistrationContract, ManyRegionsEachReachTheirMemory) {
  std::vector<std::unique_ptr<MemoryRegion>> regions;
  for (std::size_t i = 0; i < 100; ++i) {
    regions.push_back(Register(target_, i * 1000, 1000, Access::kRemoteWrite));
    Fill(Bytes(initiator_, i * 1000, 1000), static_cast<std::uint8_t>(i));
  }
  for (std::size_t i = 0; i < 100; ++i) {
    ASSERT_EQ(Write(i * 1000, 1000, regions[i]->remote(), i, 1), ErrorCode::kOk);
  }
  for (std::size_t i = 0; i < 100; ++i) TakeRemoteWrite(target_);
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_TRUE(Holds(Bytes(target_, i * 1000, 1000), static_cast<std::uint8_t>(i))) << i;
  }
}

TEST_F(RegistrationContract, RegistrationsCanComeAndGoForLong) {
  const fabric::Limits& limit = limits();
  const std::uint64_t rounds = limit.max_memory_regions == 0 ? 5000 : limit.max_memory_regions + 9;
  // The initiator's: the target may be in another process, where each call takes two switches.
  for (std::uint64_t i = 0; i < rounds; ++i) {
    auto region = Register(initiator_, 0, 100, Access::kAll);
    ASSERT_THAT(region->Close(), IsOk());
    ASSERT_THAT(region->Close(), IsOk());  // twice is harmless
  }
}

}  // namespace
}  // namespace drydock::contract
