#include "drydock/sim/rdm/receive_queue.h"

#include <array>
#include <memory>

#include "gtest/gtest.h"

namespace drydock::sim::rdm {
namespace {

using fabric::Context;

class ReceiveQueueTest : public ::testing::Test {
 protected:
  PostedReceive Receive(std::uint64_t context, std::size_t length = 100) {
    return {.buffer = ScatterList({memory_.data(), length, 1}), .context = Context{context}};
  }
  PostedReceive Tagged(std::uint64_t context, std::uint64_t tag, std::uint64_t ignore = 0) {
    PostedReceive receive = Receive(context);
    receive.tagged = true;
    receive.tag = tag;
    receive.ignore = ignore;
    return receive;
  }
  // The context of the receive that takes an untagged message, or 0.
  std::uint64_t Match(const AddressEntry& from, std::uint64_t length = 10) {
    return ContextOf(queue_.Match(from, false, 0, length));
  }
  std::uint64_t MatchTag(std::uint64_t tag) {
    return ContextOf(queue_.Match(*alice_, true, tag, 10));
  }
  static std::uint64_t ContextOf(const std::optional<PostedReceive>& receive) {
    return receive.has_value() ? static_cast<std::uint64_t>(*receive->context) : 0;
  }

  std::array<std::byte, 100> memory_{};
  std::shared_ptr<AddressEntry> alice_ = std::make_shared<AddressEntry>();
  std::shared_ptr<AddressEntry> bob_ = std::make_shared<AddressEntry>();
  ReceiveQueue queue_{4, 20};
};

TEST_F(ReceiveQueueTest, OldestReceiveIsTakenFirst) {
  queue_.Post(Receive(1));
  queue_.Post(Receive(2));
  EXPECT_EQ(Match(*alice_), 1u);
  EXPECT_EQ(Match(*bob_), 2u);
  EXPECT_EQ(Match(*alice_), 0u);
}

TEST_F(ReceiveQueueTest, IsFullAtItsDepth) {
  for (std::uint64_t i = 1; i <= 4; ++i) {
    EXPECT_FALSE(queue_.full());
    queue_.Post(Receive(i));
  }
  EXPECT_TRUE(queue_.full());
  Match(*alice_);
  EXPECT_FALSE(queue_.full());
}

TEST_F(ReceiveQueueTest, RoomForWaitingMessages) {
  ReceiveQueue queue(4, 20, 2, 100);
  const auto wait = [&](std::uint64_t bytes) {
    queue.AddUnexpected({.operation = 1, .from = alice_, .held_bytes = bytes});
  };
  EXPECT_TRUE(queue.HasRoom(1000));  // the first, of any size
  wait(60);
  EXPECT_TRUE(queue.HasRoom(40));
  EXPECT_FALSE(queue.HasRoom(41));
  EXPECT_FALSE(queue.HasRoom(UINT64_MAX));
  wait(10);
  EXPECT_FALSE(queue.HasRoom(0));  // two are enough
  EXPECT_EQ(queue.unexpected_bytes(), 70u);
  const std::uint64_t before = queue.changes();
  ASSERT_TRUE(queue.TakeUnexpected(Receive(1)).has_value());
  EXPECT_NE(queue.changes(), before);
  EXPECT_EQ(queue.unexpected_bytes(), 10u);
  EXPECT_TRUE(queue.HasRoom(90));
  ASSERT_TRUE(queue.TakeUnexpected(Receive(1)).has_value());
  wait(1000);
  EXPECT_FALSE(queue.HasRoom(0));
}

TEST_F(ReceiveQueueTest, FitsTakesNothing) {
  queue_.Post(Tagged(1, 7));
  EXPECT_TRUE(queue_.Fits(*alice_, true, 7));
  EXPECT_TRUE(queue_.Fits(*alice_, true, 7));
  EXPECT_FALSE(queue_.Fits(*alice_, true, 8));
  EXPECT_FALSE(queue_.Fits(*alice_, false, 7));
  EXPECT_EQ(queue_.posted(), 1u);
}

TEST_F(ReceiveQueueTest, PostedReceivesAreTakenBackInOrder) {
  queue_.Post(Receive(1));
  queue_.Post(Tagged(2, 7));
  EXPECT_EQ(ContextOf(queue_.TakePosted()), 1u);
  EXPECT_EQ(ContextOf(queue_.TakePosted()), 2u);
  EXPECT_FALSE(queue_.TakePosted().has_value());
}

TEST_F(ReceiveQueueTest, TaggedAndUntaggedNeverMatch) {
  queue_.Post(Tagged(1, 0));
  EXPECT_EQ(Match(*alice_), 0u);
  queue_.Post(Receive(2));
  EXPECT_EQ(MatchTag(0), 1u);
  EXPECT_EQ(MatchTag(0), 0u);
  EXPECT_EQ(Match(*alice_), 2u);
}

TEST_F(ReceiveQueueTest, TagMustAgreeWhereItIsNotIgnored) {
  queue_.Post(Tagged(1, 0xff00, 0x000f));
  EXPECT_EQ(MatchTag(0xff10), 0u);
  EXPECT_EQ(MatchTag(0x1ff00), 0u);
  EXPECT_EQ(MatchTag(0xff0a), 1u);
  queue_.Post(Tagged(2, 0, UINT64_MAX));
  EXPECT_EQ(MatchTag(0x123456789), 2u);
}

TEST_F(ReceiveQueueTest, DirectedReceiveWaitsForItsSender) {
  PostedReceive directed = Receive(1);
  directed.source = bob_;
  queue_.Post(directed);
  queue_.Post(Receive(2));
  EXPECT_EQ(Match(*alice_), 2u);
  EXPECT_EQ(Match(*alice_), 0u);
  EXPECT_EQ(Match(*bob_), 1u);
}

TEST_F(ReceiveQueueTest, OldestUnexpectedMessageThatFitsIsTaken) {
  queue_.AddUnexpected({.operation = 1, .from = alice_, .tagged = true, .tag = 5});
  queue_.AddUnexpected({.operation = 2, .from = bob_, .tagged = true, .tag = 6});
  queue_.AddUnexpected({.operation = 3, .from = bob_, .tagged = true, .tag = 5});
  EXPECT_FALSE(queue_.TakeUnexpected(Receive(1)).has_value());
  EXPECT_FALSE(queue_.TakeUnexpected(Tagged(1, 7)).has_value());
  PostedReceive from_bob = Tagged(1, 5);
  from_bob.source = bob_;
  EXPECT_EQ(queue_.TakeUnexpected(from_bob)->operation, 3u);
  EXPECT_EQ(queue_.TakeUnexpected(Tagged(1, 0, UINT64_MAX))->operation, 1u);
  EXPECT_EQ(queue_.unexpected(), 1u);
}

TEST_F(ReceiveQueueTest, MultiReceiveIsHandedOutInParts) {
  PostedReceive multi = Receive(1);
  multi.multi = std::make_shared<MultiBuffer>();
  queue_.Post(multi);
  auto part = queue_.Match(*alice_, false, 0, 30);
  EXPECT_EQ(part->data, memory_.data());
  EXPECT_EQ(part->buffer.length(), 30u);
  part = queue_.Match(*bob_, false, 0, 0);
  EXPECT_EQ(part->data, memory_.data() + 30);
  EXPECT_EQ(part->buffer.length(), 0u);
  part = queue_.Match(*alice_, false, 0, 50);  // 20 are left: enough to go on
  EXPECT_EQ(part->data, memory_.data() + 30);
  EXPECT_FALSE(multi.multi->exhausted);
  part = queue_.Match(*alice_, false, 0, 21);  // longer than what is left: cut
  EXPECT_EQ(part->data, memory_.data() + 80);
  EXPECT_EQ(part->buffer.length(), 20u);
  EXPECT_TRUE(multi.multi->exhausted);
  EXPECT_EQ(multi.multi->arriving, 4u);
  EXPECT_EQ(Match(*alice_), 0u);
  EXPECT_EQ(queue_.posted(), 0u);
}

TEST_F(ReceiveQueueTest, CancelTakesTheOldestWithTheContext) {
  queue_.Post(Tagged(7, 1));
  queue_.Post(Receive(7));
  queue_.Post(Receive(8));
  EXPECT_FALSE(queue_.Cancel(Context{9}).has_value());
  EXPECT_TRUE(queue_.Cancel(Context{7})->tagged);
  EXPECT_FALSE(queue_.Cancel(Context{7})->tagged);
  EXPECT_FALSE(queue_.Cancel(Context{7}).has_value());
  EXPECT_EQ(queue_.posted(), 1u);
}

}  // namespace
}  // namespace drydock::sim::rdm
