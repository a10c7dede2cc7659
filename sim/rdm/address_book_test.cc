#include "drydock/sim/rdm/address_book.h"

#include <array>
#include <cstdint>
#include <memory>
#include <set>

#include "absl/status/status.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::sim::rdm {
namespace {

using fabric::Address;
using fabric::Peer;
using testing_matchers::IsOk;
using testing_matchers::StatusIs;

// Remembers which peers are inserted.
class FakeVector final : public fabric::AddressVector {
 public:
  explicit FakeVector(std::set<Peer>& live) : live_(live) {}
  absl::StatusOr<Peer> Insert(const Address&) override {
    const Peer peer{next_++};
    live_.insert(peer);
    return peer;
  }
  absl::Status Remove(Peer peer) override {
    return live_.erase(peer) == 1 ? absl::OkStatus() : absl::NotFoundError("no such peer");
  }
  absl::StatusOr<Address> Lookup(Peer) const override { return absl::NotFoundError("unused"); }
  absl::Status Close() override { return absl::OkStatus(); }

 private:
  std::set<Peer>& live_;
  std::uint64_t next_ = 1000;
};

Address AddressOf(std::uint8_t machine, std::uint8_t queue_pair, std::uint8_t qkey,
                  std::uint8_t padding = 0) {
  std::array<std::uint8_t, Address::kEfaBytes> bytes{};
  bytes[0] = 0xfe;
  bytes[15] = machine;
  bytes[16] = queue_pair;
  bytes[20] = qkey;
  bytes[30] = padding;
  return *Address::FromBytes(bytes);
}

class AddressBookTest : public ::testing::Test {
 protected:
  std::set<Peer> live_;  // at the device
  AddressBook book_{std::make_unique<FakeVector>(live_)};
};

TEST_F(AddressBookTest, InsertedPeersAreFoundUntilTheyAreRemoved) {
  ASSERT_OK_AND_ASSIGN(const Peer peer, book_.Insert(AddressOf(1, 2, 3)));
  ASSERT_NE(book_.Find(peer), nullptr);
  EXPECT_EQ(book_.Find(peer)->handle, peer);
  ASSERT_OK_AND_ASSIGN(const Address found, book_.Lookup(peer));
  EXPECT_EQ(found, AddressOf(1, 2, 3));
  EXPECT_THAT(book_.Remove(peer), IsOk());
  EXPECT_EQ(book_.Find(peer), nullptr);
  EXPECT_THAT(book_.Remove(peer), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(book_.Lookup(peer).status(), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_TRUE(live_.empty());
}

TEST_F(AddressBookTest, StaleHandlesNameNobody) {
  ASSERT_OK_AND_ASSIGN(const Peer stale, book_.Insert(AddressOf(1, 2, 3)));
  EXPECT_THAT(book_.Remove(stale), IsOk());
  ASSERT_OK_AND_ASSIGN(const Peer fresh, book_.Insert(AddressOf(4, 5, 6)));
  EXPECT_NE(stale, fresh);
  EXPECT_EQ(book_.Find(stale), nullptr);
}

// The device, too, knows it once.
TEST_F(AddressBookTest, OneAddressIsOnePeerHoweverOftenItIsInserted) {
  ASSERT_OK_AND_ASSIGN(const Peer one, book_.Insert(AddressOf(1, 2, 3)));
  ASSERT_OK_AND_ASSIGN(const Peer again, book_.Insert(AddressOf(1, 2, 3, 9)));
  EXPECT_EQ(one, again);
  EXPECT_EQ(live_.size(), 1u);
  EXPECT_THAT(book_.Remove(one), IsOk());
  EXPECT_EQ(book_.Find(again), nullptr);
  EXPECT_TRUE(live_.empty());
  ASSERT_OK_AND_ASSIGN(const Peer later, book_.Insert(AddressOf(1, 2, 3)));
  EXPECT_NE(later, one);
}

TEST_F(AddressBookTest, QkeyTellsEndpointsOfOneQueuePairApart) {
  ASSERT_OK_AND_ASSIGN(const auto before, book_.Use(AddressOf(1, 2, 3)));
  ASSERT_OK_AND_ASSIGN(const auto after, book_.Use(AddressOf(1, 2, 4)));
  EXPECT_NE(before, after);
  EXPECT_TRUE(SameQueuePair(before->address, after->address));
  EXPECT_FALSE(SameQueuePair(before->address, AddressOf(1, 3, 3)));
  EXPECT_EQ(ConnidOf(after->address), 4u);
  EXPECT_EQ(book_.FindConnid(*before, 4), after);
  EXPECT_EQ(book_.FindConnid(*after, 3), before);
  EXPECT_EQ(book_.FindConnid(*after, 5), nullptr);
}

// A peer in use stays, without a handle.
TEST_F(AddressBookTest, RemovedPeerStaysWhileItIsUsed) {
  ASSERT_OK_AND_ASSIGN(const Peer peer, book_.Insert(AddressOf(1, 2, 3)));
  std::shared_ptr<AddressEntry> used = book_.Find(peer);
  EXPECT_THAT(book_.Remove(peer), IsOk());
  EXPECT_EQ(used->handle, fabric::kNoPeer);
  EXPECT_EQ(book_.FindDevicePeer(used->device_peer), used);
  ASSERT_OK_AND_ASSIGN(const Peer again, book_.Insert(AddressOf(1, 2, 3)));
  EXPECT_EQ(book_.Find(again), used);
  EXPECT_THAT(book_.Remove(again), IsOk());
  EXPECT_EQ(live_.size(), 1u);
  used.reset();
  book_.Collect();
  EXPECT_TRUE(live_.empty());
}

TEST_F(AddressBookTest, CollectDropsOnlyWhatNobodyHolds) {
  ASSERT_OK_AND_ASSIGN(const Peer named, book_.Insert(AddressOf(1, 2, 3)));
  ASSERT_OK_AND_ASSIGN(const auto held, book_.Use(AddressOf(4, 5, 6)));
  ASSERT_OK_AND_ASSIGN(auto dropped, book_.Use(AddressOf(7, 8, 9)));
  const Peer gone = dropped->device_peer;
  dropped.reset();
  book_.Collect();
  EXPECT_EQ(live_.count(gone), 0u);
  EXPECT_EQ(live_.size(), 2u);
  EXPECT_NE(book_.Find(named), nullptr);
  EXPECT_EQ(book_.FindAddress(AddressOf(4, 5, 6)), held);
}

TEST_F(AddressBookTest, OtherLengthsAreRefused) {
  const std::array<std::uint8_t, 31> bytes{1};
  EXPECT_THAT(book_.Insert(*Address::FromBytes(bytes)).status(),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(book_.Insert(Address()).status(), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace drydock::sim::rdm
