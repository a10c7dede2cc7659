#include "drydock/sim/hosts/sockets/frames.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "drydock/sim/random.h"
#include "gtest/gtest.h"

namespace drydock::sim {
namespace {

void Put(FrameWriter& writer, const std::string& text) {
  std::byte* room = writer.Reserve(text.size());
  ASSERT_NE(room, nullptr);
  std::memcpy(room, text.data(), text.size());
}

// Gives the reader at most `most` of the writer's bytes; returns how many.
std::size_t Pass(FrameWriter& writer, FrameReader& reader, std::size_t most) {
  const std::span<std::byte> room = reader.Room();
  const std::size_t bytes = std::min({most, writer.unsent().size(), room.size()});
  if (bytes > 0) std::memcpy(room.data(), writer.unsent().data(), bytes);
  reader.Add(bytes);
  writer.Sent(bytes);
  return bytes;
}

std::string TextOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(FramesTest, MessagesComeWholeFromPiecesOfAnySize) {
  FrameWriter writer(3000);
  FrameReader reader(200);
  std::vector<std::string> sent;
  std::vector<std::string> taken;
  std::size_t refused = 0;
  for (std::uint64_t step = 0; step < 20000; ++step) {
    const std::uint64_t word = Combine(7, step);
    const std::string text(1 + word % 200, static_cast<char>('a' + step % 26));
    if (std::byte* room = writer.Reserve(text.size())) {
      std::memcpy(room, text.data(), text.size());
      sent.push_back(text);
    } else {
      ++refused;
    }
    Pass(writer, reader, (word >> 16) % 200);
    std::span<const std::byte> message;
    while (reader.Next(message)) {
      taken.push_back(TextOf(message));
      reader.Release();
    }
    ASSERT_FALSE(reader.garbage());
  }
  EXPECT_GT(refused, 0u);
  EXPECT_GT(taken.size(), 10000u);
  sent.resize(taken.size());
  EXPECT_EQ(taken, sent);
}

TEST(FramesTest, AMessageStaysUntilItIsReleased) {
  FrameWriter writer(100);
  FrameReader reader(10);
  Put(writer, "one");
  Put(writer, "two");
  Pass(writer, reader, 100);
  std::span<const std::byte> message;
  ASSERT_TRUE(reader.Next(message));
  ASSERT_TRUE(reader.Next(message));
  EXPECT_EQ(TextOf(message), "one");
  reader.Release();
  ASSERT_TRUE(reader.Next(message));
  EXPECT_EQ(TextOf(message), "two");
}

TEST(FramesTest, ALengthThatCannotBeEndsTheStream) {
  for (const std::uint32_t length : {0u, 11u, 0x41414141u, 0xffffffffu}) {
    FrameReader reader(10);
    const std::span<std::byte> room = reader.Room();
    ASSERT_GE(room.size(), 14u);
    std::memcpy(room.data(), &length, sizeof(length));
    reader.Add(sizeof(length));
    std::span<const std::byte> message;
    EXPECT_FALSE(reader.Next(message)) << length;
    EXPECT_TRUE(reader.garbage()) << length;
  }
}

TEST(FramesTest, LongerMessagesCanBeAllowedLater) {
  FrameWriter writer(1000);
  FrameReader reader(10);
  Put(writer, "hello");
  Put(writer, std::string(500, 'x'));
  Pass(writer, reader, 9);
  std::span<const std::byte> message;
  ASSERT_TRUE(reader.Next(message));
  reader.Release();
  reader.Allow(500);
  while (Pass(writer, reader, 100) > 0) {
  }
  ASSERT_TRUE(reader.Next(message));
  EXPECT_EQ(message.size(), 500u);
}

TEST(FramesTest, WhatIsNotTakenFillsTheWriter) {
  FrameWriter writer(20);
  EXPECT_NE(writer.Reserve(16), nullptr);
  EXPECT_EQ(writer.Reserve(1), nullptr);
  writer.Sent(20);
  EXPECT_NE(writer.Reserve(1), nullptr);
}

}  // namespace
}  // namespace drydock::sim
