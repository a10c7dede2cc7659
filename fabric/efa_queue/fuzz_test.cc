// Two million images, random ones and damaged ones, against the rules of image_checks.h, in memory
// whose neighbours end the process when touched. The seed is fixed and printed with any failure;
// DRYDOCK_FUZZ_SEED tries another.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string>

#include "drydock/fabric/efa_queue/receive_wqe.h"
#include "drydock/fabric/efa_queue/testing/guarded_page.h"
#include "drydock/fabric/efa_queue/testing/hex.h"
#include "drydock/fabric/efa_queue/testing/image_checks.h"
#include "gtest/gtest.h"

namespace drydock::fabric::efa_queue {
namespace {

// splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t Next() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  std::uint32_t Below(std::uint32_t limit) { return static_cast<std::uint32_t>(Next() % limit); }
  bool Coin() { return (Next() & 1) != 0; }
  void Fill(std::uint8_t* bytes, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(Next());
  }

 private:
  std::uint64_t state_;
};

std::uint64_t Seed() {
  const char* chosen = std::getenv("DRYDOCK_FUZZ_SEED");
  return chosen != nullptr ? std::strtoull(chosen, nullptr, 0) : 20240607;
}

// Changes a few bits, or a byte, or nothing.
void Damage(Random& random, std::uint8_t* bytes, std::uint32_t size) {
  for (std::uint32_t left = random.Below(4); left != 0; --left) {
    std::uint8_t& byte = bytes[random.Below(random.Coin() ? std::min(size, 16u) : size)];
    if (random.Below(4) == 0) {
      byte = static_cast<std::uint8_t>(random.Next());
    } else {
      byte ^= static_cast<std::uint8_t>(1u << random.Below(8));
    }
  }
}

BufferDescriptor RandomSegment(Random& random, std::uint32_t length) {
  BufferDescriptor segment;
  segment.length = length;
  segment.lkey = static_cast<std::uint32_t>(random.Next()) & kLocalKeyMask;
  segment.address = random.Next();
  return segment;
}

// A request that is almost always valid; counts and lengths at times are not.
SendWork RandomWork(Random& random, SendFormat format, const std::uint8_t* payload) {
  SendWork work;
  work.request_id = format.long_request_ids ? random.Next() : random.Below(65536);
  work.operation = static_cast<Operation>(random.Below(3));
  work.has_immediate = work.operation != Operation::kRead && random.Coin();
  work.immediate = static_cast<std::uint32_t>(random.Next());
  work.completion_requested = random.Coin();
  work.hints = static_cast<std::uint8_t>(random.Below(4));
  work.destination_queue_pair = static_cast<std::uint16_t>(random.Next());
  work.address_handle = static_cast<std::uint16_t>(random.Next());
  work.qkey = static_cast<std::uint32_t>(random.Next());
  const bool message = work.operation == Operation::kSend;
  work.is_inline = random.Below(3) == 0 && (message || format.wide || random.Below(8) == 0);
  const auto length = static_cast<std::uint32_t>(random.Next());
  if (work.is_inline) {
    work.inline_bytes = static_cast<std::uint16_t>(random.Below(format.inline_bytes() + 2));
    work.inline_data = payload;
    work.remote.length = work.inline_bytes;
  } else {
    work.segment_count = static_cast<std::uint8_t>(message ? random.Below(4) : 1);
    work.remote.length = length;
  }
  work.remote.rkey = static_cast<std::uint32_t>(random.Next());
  work.remote.address = random.Next();
  work.segments[0] = RandomSegment(random, length);
  work.segments[1] = RandomSegment(random, static_cast<std::uint32_t>(random.Next()));
  return work;
}

Completion RandomCompletion(Random& random) {
  Completion completion;
  completion.request_id = random.Next();
  completion.queue_pair = static_cast<std::uint16_t>(random.Next());
  completion.status = static_cast<CompletionStatus>(random.Coin() ? 0 : random.Below(256));
  completion.queue = random.Coin() ? QueueType::kSend : QueueType::kReceive;
  completion.operation = static_cast<Operation>(random.Below(3));
  if (completion.queue == QueueType::kReceive) {
    completion.has_immediate = random.Coin();
    completion.unsolicited = random.Below(4) == 0;
    completion.address_handle =
        random.Coin() ? kUnknownAddressHandle : static_cast<std::uint16_t>(random.Next());
    completion.source_queue_pair = static_cast<std::uint16_t>(random.Next());
    completion.immediate = static_cast<std::uint32_t>(random.Next());
    completion.length = static_cast<std::uint32_t>(random.Next());
    completion.source_gid[0] = random.Next();
    completion.source_gid[1] = random.Next();
  }
  return completion;
}

// Runs checks and keeps count of the decoder's answers.
class FuzzTest : public ::testing::Test {
 protected:
  void Expect(const ImageVerdict& verdict, const std::uint8_t* image, std::size_t size) {
    ++seen_[static_cast<int>(verdict.why)];
    ASSERT_EQ(verdict.broken, nullptr)
        << verdict.broken << " (" << MalformedName(verdict.why) << "), seed " << Seed() << ":\n"
        << ToHex(image, size);
  }

  // The test has reached every answer that this decoder can give.
  void ExpectSeen(std::initializer_list<Malformed> reasons) {
    for (const Malformed why : reasons) {
      EXPECT_GE(seen_[static_cast<int>(why)], 100u) << MalformedName(why) << ", seed " << Seed();
    }
  }

  // Where the next image of `size` bytes goes: at either end of the allowed memory.
  std::uint8_t* Place(std::size_t size) {
    return random_.Coin() ? page_.begin() : page_.last(size);
  }

  Random random_{Seed()};

 private:
  GuardedPage page_;
  std::uint64_t seen_[256] = {};
};

TEST_F(FuzzTest, SendEntries) {
  std::uint8_t payload[81];
  random_.Fill(payload, sizeof(payload));
  for (int i = 0; i < 1'000'000; ++i) {
    const SendFormat format{.wide = random_.Coin(), .long_request_ids = random_.Coin()};
    const std::uint32_t size = format.entry_bytes();
    std::uint8_t* image = Place(size);
    const unsigned phase = random_.Below(2);
    if (i % 4 == 0) {
      random_.Fill(image, size);
    } else {
      EncodeSend(RandomWork(random_, format, payload), format, phase, image);
      Damage(random_, image, size);
    }
    ASSERT_NO_FATAL_FAILURE(Expect(CheckSendImage(image, format, phase), image, size)) << i;
  }
  ExpectSeen({Malformed::kNone, Malformed::kWrongPhase, Malformed::kNotMetaDescriptor,
              Malformed::kFirstMissing, Malformed::kLastMissing, Malformed::kReservedBits,
              Malformed::kUnknownOperation, Malformed::kReadInline, Malformed::kReadImmediate,
              Malformed::kInlineWriteOnNarrow, Malformed::kInlineTooLong, Malformed::kNoSegments,
              Malformed::kTooManySegments, Malformed::kRmaSegmentCount,
              Malformed::kLengthsDisagree});
}

TEST_F(FuzzTest, ReceiveDescriptors) {
  for (int i = 0; i < 500'000; ++i) {
    const std::uint32_t entries = 1u << random_.Below(3);
    const std::uint32_t size = 16 * entries;
    const auto counter = static_cast<std::uint32_t>(random_.Next());
    const std::uint32_t announced = 1 + random_.Below(entries);
    const std::uint32_t max_segments = 1 + random_.Below(4);
    std::uint8_t* image = Place(size);
    random_.Fill(image, size);
    if (i % 4 != 0) {
      ReceiveWork work;
      work.request_id = static_cast<std::uint16_t>(random_.Next());
      work.segment_count = static_cast<std::uint8_t>(1 + random_.Below(std::min(entries, 3u)));
      for (BufferDescriptor& segment : work.segments) {
        segment = RandomSegment(random_, random_.Below(65536));
      }
      EncodeReceive(work, image, entries, counter);
      Damage(random_, image, size);
    }
    const ImageVerdict verdict =
        CheckReceiveImage(image, entries, counter, announced, max_segments);
    ASSERT_NO_FATAL_FAILURE(Expect(verdict, image, size)) << i;
  }
  ExpectSeen({Malformed::kNone, Malformed::kFirstMissing, Malformed::kLastMissing,
              Malformed::kReservedBits, Malformed::kTooManySegments,
              Malformed::kRequestIdsDisagree});
}

TEST_F(FuzzTest, CompletionEntries) {
  for (int i = 0; i < 500'000; ++i) {
    const CqeSize size = random_.Coin() ? CqeSize::k16 : CqeSize::k32;
    const auto bytes = static_cast<std::uint32_t>(size);
    const unsigned phase = random_.Below(2);
    std::uint8_t* image = Place(bytes);
    if (i % 4 == 0) {
      random_.Fill(image, bytes);
    } else {
      EncodeCompletion(RandomCompletion(random_), size, phase, image);
      Damage(random_, image, bytes);
    }
    ASSERT_NO_FATAL_FAILURE(Expect(CheckCompletionImage(image, size, phase), image, bytes)) << i;
  }
  ExpectSeen({Malformed::kNone, Malformed::kWrongPhase, Malformed::kReservedBits,
              Malformed::kUnknownOperation, Malformed::kUnknownQueueType,
              Malformed::kReceiveFlagOnSend, Malformed::kUnsolicitedMessage,
              Malformed::kImmediateMissing});
}

}  // namespace
}  // namespace drydock::fabric::efa_queue
