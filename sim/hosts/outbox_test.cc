#include "drydock/sim/hosts/outbox.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "drydock/sim/hosts/channel.h"
#include "drydock/sim/hosts/message.h"
#include "gtest/gtest.h"

namespace drydock::sim {
namespace {

// Has room for so many bytes, and keeps what it is given.
class FakeChannel final : public Channel {
 public:
  explicit FakeChannel(std::size_t room = SIZE_MAX) : room_(room) {}

  void SetRoom(std::size_t bytes) { room_ = bytes; }
  int publications() const { return publications_; }
  // The operations of the messages that were published so far.
  const std::vector<std::uint64_t>& published() const { return published_; }
  // The payload of a message that was published.
  std::span<const std::byte> PayloadOf(std::size_t message) const {
    return std::span(messages_[message]).subspan(sizeof(Message));
  }

  // --- Channel ---
  std::byte* Reserve(std::size_t bytes) override {
    if (bytes > room_) return nullptr;
    room_ -= bytes;
    messages_.emplace_back(bytes);
    return messages_.back().data();
  }
  void Publish() override {
    ++publications_;
    while (published_.size() < messages_.size()) {
      published_.push_back(Parse(messages_[published_.size()])->message.operation);
    }
  }
  bool drained() const override { return false; }
  bool Next(std::span<const std::byte>&) override { return false; }
  void Release() override {}
  State state() const override { return State::kSound; }

 private:
  std::size_t room_;
  int publications_ = 0;
  std::vector<std::vector<std::byte>> messages_;
  std::vector<std::uint64_t> published_;
};

using Operations = std::vector<std::uint64_t>;

Message Ended(std::uint64_t operation) {
  Message message;
  message.type = MessageType::kEnded;
  message.operation = operation;
  return message;
}

Message Packet(std::uint64_t operation, std::uint32_t payload_bytes) {
  Message message;
  message.operation = operation;
  SetPlace(payload_bytes, false, message);
  return message;
}

class OutboxTest : public testing::Test {
 protected:
  // A message whose payload is all `filler`.
  void PutPacket(std::uint64_t operation, std::uint32_t payload_bytes, std::byte filler) {
    const std::span<std::byte> payload = outbox_.Put(Packet(operation, payload_bytes));
    ASSERT_EQ(payload.size(), payload_bytes);
    std::memset(payload.data(), static_cast<int>(filler), payload.size());
  }

  std::uint64_t sent_ = 0;
  Outbox outbox_{sent_};
};

TEST_F(OutboxTest, AMessageLeavesWithFlush) {
  FakeChannel channel;
  outbox_.Open(channel);
  EXPECT_FALSE(outbox_.Flush());
  PutPacket(1, 3, std::byte{0x5a});
  EXPECT_TRUE(outbox_.Put(Ended(2)).empty());
  EXPECT_EQ(channel.publications(), 0);
  EXPECT_FALSE(outbox_.has_waiting());
  EXPECT_EQ(sent_, 2u);

  EXPECT_TRUE(outbox_.Flush());
  EXPECT_EQ(channel.publications(), 1);
  EXPECT_EQ(channel.published(), (Operations{1, 2}));
  ASSERT_EQ(channel.PayloadOf(0).size(), 3u);
  for (const std::byte byte : channel.PayloadOf(0)) EXPECT_EQ(byte, std::byte{0x5a});

  EXPECT_FALSE(outbox_.Flush());
  EXPECT_EQ(channel.publications(), 1);
}

TEST_F(OutboxTest, AShortMessageDoesNotOvertakeALongOneThatWaits) {
  FakeChannel channel(sizeof(Message));
  outbox_.Open(channel);
  PutPacket(1, 8, std::byte{0x77});
  outbox_.Put(Ended(2));
  EXPECT_TRUE(outbox_.has_waiting());
  EXPECT_EQ(sent_, 0u);

  channel.SetRoom(2 * sizeof(Message) + 8);
  EXPECT_TRUE(outbox_.Flush());
  EXPECT_EQ(channel.published(), (Operations{1, 2}));
  EXPECT_EQ(channel.PayloadOf(0)[7], std::byte{0x77});
  EXPECT_FALSE(outbox_.has_waiting());
  EXPECT_EQ(sent_, 2u);
}

TEST_F(OutboxTest, FlushMovesAsMuchAsThereIsRoomFor) {
  FakeChannel channel(0);
  outbox_.Open(channel);
  outbox_.Put(Ended(1));
  outbox_.Put(Ended(2));
  channel.SetRoom(sizeof(Message));
  EXPECT_TRUE(outbox_.Flush());
  EXPECT_EQ(channel.published(), Operations{1});
  EXPECT_EQ(sent_, 1u);

  // Something waits, and nothing is news.
  EXPECT_TRUE(outbox_.Flush());
  EXPECT_EQ(channel.publications(), 1);
  EXPECT_TRUE(outbox_.has_waiting());

  channel.SetRoom(sizeof(Message));
  EXPECT_TRUE(outbox_.Flush());
  EXPECT_EQ(channel.published(), (Operations{1, 2}));
  EXPECT_FALSE(outbox_.Flush());
}

TEST_F(OutboxTest, ItIsCrowdedWhenMoreThanAMebibyteWaits) {
  constexpr std::uint32_t kMost = 1 << 20;
  FakeChannel channel(0);
  outbox_.Open(channel);
  outbox_.Put(Packet(1, kMost - sizeof(Message)));
  EXPECT_FALSE(outbox_.crowded());
  outbox_.Put(Ended(2));
  EXPECT_TRUE(outbox_.crowded());
  channel.SetRoom(kMost);
  outbox_.Flush();
  EXPECT_TRUE(outbox_.has_waiting());
  EXPECT_FALSE(outbox_.crowded());
}

TEST_F(OutboxTest, ItIsOverfullWhenMoreThan16MebibytesWait) {
  constexpr std::uint32_t kMost = 16 << 20;
  FakeChannel channel(0);
  outbox_.Open(channel);
  outbox_.Put(Packet(1, kMost - sizeof(Message)));
  EXPECT_FALSE(outbox_.overfull());
  outbox_.Put(Ended(2));
  EXPECT_TRUE(outbox_.overfull());
  outbox_.Close();
  EXPECT_FALSE(outbox_.overfull());
}

TEST_F(OutboxTest, WhatWasPutForAProcessThatHasGoneIsLost) {
  EXPECT_TRUE(outbox_.Put(Packet(1, 8)).empty());
  EXPECT_FALSE(outbox_.Flush());

  FakeChannel channel(sizeof(Message));
  outbox_.Open(channel);
  outbox_.Put(Ended(2));
  outbox_.Put(Packet(3, 2 << 20));
  EXPECT_TRUE(outbox_.crowded());
  outbox_.Close();
  EXPECT_FALSE(outbox_.has_waiting());
  EXPECT_FALSE(outbox_.crowded());
  EXPECT_TRUE(outbox_.Put(Packet(4, 8)).empty());
  EXPECT_FALSE(outbox_.Flush());
  EXPECT_EQ(channel.publications(), 0);

  FakeChannel successor;
  outbox_.Open(successor);
  EXPECT_FALSE(outbox_.Flush());
  outbox_.Put(Ended(5));
  EXPECT_TRUE(outbox_.Flush());
  EXPECT_EQ(successor.published(), Operations{5});
}

}  // namespace
}  // namespace drydock::sim
