#include "drydock/sim/hosts/ring.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "drydock/sim/random.h"
#include "gtest/gtest.h"

namespace drydock::sim {
namespace {

struct alignas(64) Line {
  std::byte bytes[64];
};

// Memory of a ring, with a guard behind it.
class RingMemory {
 public:
  explicit RingMemory(std::size_t capacity)
      : bytes_(RingBytes(capacity)), lines_(RingBytes(capacity) / sizeof(Line) + 1) {}

  std::span<std::byte> span() { return {reinterpret_cast<std::byte*>(lines_.data()), bytes_}; }
  std::uint64_t& Word(std::size_t at) {
    return *reinterpret_cast<std::uint64_t*>(span().data() + at);
  }
  bool guard_is_whole() const {
    for (const std::byte byte : lines_.back().bytes) {
      if (byte != std::byte{}) return false;
    }
    return true;
  }

 private:
  std::size_t bytes_;
  std::vector<Line> lines_;
};

bool Write(RingWriter& writer, const std::string& text) {
  std::byte* room = writer.Reserve(text.size() + 1);
  if (room == nullptr) return false;
  std::memcpy(room, text.c_str(), text.size() + 1);
  writer.Publish();
  return true;
}

// The oldest message; empty when there is none.
std::string Read(RingReader& reader) {
  std::span<const std::byte> message;
  if (reader.Next(message) != RingReader::Result::kMessage) return "";
  std::string text(reinterpret_cast<const char*>(message.data()), message.size());
  reader.Release();
  return text.substr(0, text.find('\0'));
}

TEST(RingTest, MessagesComeInTheirOrder) {
  RingMemory memory(256);
  RingWriter writer(memory.span());
  RingReader reader(memory.span());
  EXPECT_EQ(Read(reader), "");
  EXPECT_TRUE(writer.drained());
  EXPECT_TRUE(Write(writer, "one"));
  EXPECT_TRUE(Write(writer, "and two"));
  EXPECT_FALSE(writer.drained());
  EXPECT_EQ(Read(reader), "one");
  EXPECT_EQ(Read(reader), "and two");
  EXPECT_EQ(Read(reader), "");
  EXPECT_TRUE(writer.drained());
}

TEST(RingTest, NothingIsSeenBeforeItIsPublished) {
  RingMemory memory(256);
  RingWriter writer(memory.span());
  RingReader reader(memory.span());
  std::memcpy(writer.Reserve(4), "late", 4);
  EXPECT_EQ(Read(reader), "");
  writer.Publish();
  EXPECT_EQ(Read(reader), "late");
}

TEST(RingTest, AFullRingTakesNoMoreUntilItIsRead) {
  RingMemory memory(128);
  RingWriter writer(memory.span());
  RingReader reader(memory.span());
  std::size_t taken = 0;
  while (Write(writer, "1234567")) ++taken;
  EXPECT_EQ(taken, 128u / 16);
  EXPECT_EQ(Read(reader), "1234567");
  EXPECT_TRUE(Write(writer, "next"));
  EXPECT_FALSE(Write(writer, "no"));
  EXPECT_TRUE(memory.guard_is_whole());
}

TEST(RingTest, TooLongForTheRing) {
  RingMemory memory(128);
  RingWriter writer(memory.span());
  EXPECT_EQ(writer.Reserve(writer.longest() + 1), nullptr);
  EXPECT_NE(writer.Reserve(writer.longest()), nullptr);
  EXPECT_FALSE(writer.broken());
}

// Every length at every position: what comes out is what went in, round after round.
TEST(RingTest, WrapsAround) {
  RingMemory memory(512);
  RingWriter writer(memory.span());
  RingReader reader(memory.span());
  std::deque<std::string> expected;
  for (std::uint64_t round = 0; round < 20000; ++round) {
    const std::uint64_t word = Mix(round);
    const std::string text(1 + word % (writer.longest() - 1), static_cast<char>('a' + word % 26));
    if (Write(writer, text)) expected.push_back(text);
    if ((word >> 32) % 2 == 0 && !expected.empty()) {
      ASSERT_EQ(Read(reader), expected.front()) << "round " << round;
      expected.pop_front();
    }
  }
  EXPECT_TRUE(memory.guard_is_whole());
}

// ---- The other side writes nonsense ----

TEST(RingTest, AReaderNoticesAWrongCapacity) {
  RingMemory memory(256);
  RingWriter writer(memory.span());
  memory.Word(0) = 1024;
  RingReader reader(memory.span());
  std::span<const std::byte> message;
  EXPECT_EQ(reader.Next(message), RingReader::Result::kGarbage);
}

TEST(RingTest, AReaderNoticesAFileThatIsNoRing) {
  Line line{};
  RingReader small(std::span(line.bytes));
  std::span<const std::byte> message;
  EXPECT_EQ(small.Next(message), RingReader::Result::kGarbage);
  RingMemory memory(256);
  RingReader odd(memory.span().first(RingBytes(256) - 8));
  EXPECT_EQ(odd.Next(message), RingReader::Result::kGarbage);
}

TEST(RingTest, AWriterNoticesAWrongPosition) {
  for (const std::uint64_t head : {std::uint64_t{8}, ~std::uint64_t{0}, std::uint64_t{1} << 40}) {
    RingMemory memory(128);
    RingWriter writer(memory.span());
    while (Write(writer, "1234567")) {
    }
    memory.Word(128) = 128 + head;
    EXPECT_FALSE(Write(writer, "more")) << head;
    EXPECT_TRUE(writer.broken()) << head;
  }
}

// A ring of random words: the reader stays within it, and comes to an end.
TEST(RingTest, AReaderSurvivesAnything) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    RingMemory memory(256);
    RingWriter writer(memory.span());
    RingReader reader(memory.span());
    for (int i = 0; i < 5; ++i) Write(writer, "something");
    for (std::uint64_t i = 0; i < 6; ++i) {
      const std::uint64_t word = Combine(seed, i);
      const std::size_t at = i == 0 ? 64 : kRingHeaderBytes + 8 * (word % 32);
      // Small numbers more often than others: they are nearly right.
      memory.Word(at) =
          (word >> 20) % 3 == 0 ? word : (1 + (word >> 30) % 2) << 32 | (word >> 8) % 300;
    }
    std::size_t messages = 0;
    while (messages < 1000) {
      std::span<const std::byte> message;
      if (reader.Next(message) != RingReader::Result::kMessage) break;
      ASSERT_GE(message.data(), memory.span().data() + kRingHeaderBytes) << "seed " << seed;
      ASSERT_LE(message.data() + message.size(), memory.span().data() + RingBytes(256))
          << "seed " << seed;
      reader.Release();
      ++messages;
    }
    EXPECT_LE(messages, 32u) << "seed " << seed;
    EXPECT_TRUE(memory.guard_is_whole()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace drydock::sim
