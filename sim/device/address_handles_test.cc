// Numbers for peers: one per domain and machine, counted, and given again.

#include "drydock/sim/device/address_handles.h"

#include <cstdint>
#include <set>
#include <vector>

#include "drydock/sim/profile/profile.h"
#include "drydock/sim/world/world.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::sim {
namespace {

using ::testing::HasSubstr;
using testing_matchers::IsOkAndHolds;
using testing_matchers::StatusIs;

constexpr ProtectionDomain kDomain = 1;
constexpr ProtectionDomain kOther = 2;

class AddressHandlesTest : public ::testing::Test {
 protected:
  AddressHandlesTest() {
    for (const char* name : {"a", "b", "c", "d"})
      peers_.push_back(&world_.AddNode(name).nic(0).state());
  }
  std::uint16_t Create(ProtectionDomain domain, std::size_t peer) {
    return handles_.Create(domain, peers_[peer]->gid, peers_[peer], peers_[peer]->index()).value();
  }
  std::uint16_t NumberOf(ProtectionDomain domain, std::size_t peer) const {
    return handles_.NumberOf(domain, peers_[peer]->index());
  }

  World world_{1, **FindProfile("small")};
  std::vector<NicState*> peers_;
  AddressHandles handles_{4};
};

TEST_F(AddressHandlesTest, FindsWhoseItIs) {
  const std::uint16_t number = Create(kDomain, 1);
  const AddressHandles::Handle* handle = handles_.Find(number, kDomain);
  ASSERT_NE(handle, nullptr);
  EXPECT_EQ(handle->peer, peers_[1]);
  EXPECT_EQ(handle->gid, peers_[1]->gid);
  EXPECT_EQ(handle->references, 1u);
  EXPECT_EQ(NumberOf(kDomain, 1), number);
  EXPECT_EQ(NumberOf(kDomain, 0), AddressHandles::kUnknown);
}

TEST_F(AddressHandlesTest, NumbersThatNobodyGaveOutMeanNobody) {
  Create(kDomain, 0);
  for (const int number : {1, 100, 0xffff}) {
    EXPECT_EQ(handles_.Find(static_cast<std::uint16_t>(number), kDomain), nullptr);
  }
  EXPECT_EQ(handles_.NumberOf(999, 0), AddressHandles::kUnknown);
  EXPECT_EQ(handles_.NumberOf(kDomain, 999), AddressHandles::kUnknown);
}

TEST_F(AddressHandlesTest, DomainsAreApart) {
  const std::uint16_t ours = Create(kDomain, 1);
  EXPECT_EQ(handles_.Find(ours, kOther), nullptr);
  EXPECT_EQ(NumberOf(kOther, 1), AddressHandles::kUnknown);
  const std::uint16_t theirs = Create(kOther, 1);
  EXPECT_NE(ours, theirs);
  EXPECT_TRUE(handles_.Destroy(ours));
  EXPECT_EQ(NumberOf(kDomain, 1), AddressHandles::kUnknown);
  EXPECT_EQ(NumberOf(kOther, 1), theirs);
}

TEST_F(AddressHandlesTest, SameMachineIsOneHandleWithReferences) {
  const std::uint16_t number = Create(kDomain, 2);
  EXPECT_EQ(Create(kDomain, 2), number);
  EXPECT_EQ(Create(kDomain, 2), number);
  EXPECT_EQ(handles_.live(), 1u);
  EXPECT_FALSE(handles_.Destroy(number));
  EXPECT_FALSE(handles_.Destroy(number));
  EXPECT_NE(handles_.Find(number, kDomain), nullptr);
  EXPECT_TRUE(handles_.Destroy(number));
  EXPECT_EQ(handles_.Find(number, kDomain), nullptr);
  EXPECT_EQ(handles_.live(), 0u);
}

TEST_F(AddressHandlesTest, HasSoMany) {
  for (std::size_t i = 0; i < 4; ++i) Create(kDomain, i);
  EXPECT_THAT(handles_.Create(kOther, peers_[0]->gid, peers_[0], 0),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("4")));
  EXPECT_THAT(handles_.Create(kDomain, peers_[0]->gid, peers_[0], 0),
              IsOkAndHolds(NumberOf(kDomain, 0)));  // no new one
  handles_.Destroy(NumberOf(kDomain, 3));
  EXPECT_NE(Create(kOther, 0), AddressHandles::kUnknown);
}

TEST_F(AddressHandlesTest, NumbersAreGivenAgainToOthers) {
  const std::uint16_t number = Create(kDomain, 0);
  handles_.Destroy(number);
  std::set<std::uint16_t> numbers;
  for (std::size_t i = 1; i < 4; ++i) numbers.insert(Create(kDomain, i));
  EXPECT_EQ(numbers.count(number), 1u);
  EXPECT_EQ(numbers.size(), 3u);
  EXPECT_NE(handles_.Find(number, kDomain)->peer, peers_[0]);
}

TEST_F(AddressHandlesTest, DestroyingTwiceIsABug) {
  const std::uint16_t number = Create(kDomain, 0);
  handles_.Destroy(number);
  EXPECT_DEATH(handles_.Destroy(number), "destroying an address handle twice");
  EXPECT_DEATH(handles_.Destroy(77), "destroying an address handle twice");
}

}  // namespace
}  // namespace drydock::sim
