// The bytes of memory that a capture has, and where it stops.

#include "drydock/fabric/capture/payload.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "drydock/fabric/capture/bytes_digest.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::fabric::capture {
namespace {

using ::testing::HasSubstr;

const void* Handle(int number) { return reinterpret_cast<const void*>(std::uintptr_t(number)); }

struct PayloadTest : ::testing::Test {
  std::array<std::byte, 64> memory{};
  LocalBuffer Buffer(std::size_t offset, std::size_t length) {
    return {memory.data() + offset, length, 0};
  }
  MemoryRequest Region(MemoryKind kind = MemoryKind::kSystem) {
    return {.data = memory.data(), .length_bytes = memory.size(), .kind = kind};
  }
};

TEST_F(PayloadTest, BytesAreThoseOfTheMoment) {
  Payload payload(1000);
  memory[0] = std::byte{'a'};
  memory[10] = std::byte{'b'};
  EXPECT_EQ(payload.Sent(Buffer(0, 1), {}), R"("data":"YQ==")");
  const LocalBuffer more[] = {Buffer(10, 1)};
  EXPECT_EQ(payload.Sent(Buffer(0, 1), more), R"("data":"YWI=")");
  EXPECT_EQ(payload.Sent({}, {}), "");
  EXPECT_EQ(payload.taken(), 3u);
  EXPECT_TRUE(payload.complete());
}

TEST_F(PayloadTest, LimitIsOfAllKindsTogether) {
  Payload payload(64);
  memory[1] = std::byte{1};
  EXPECT_EQ(payload.Sent(Buffer(0, 1), {}), R"("data":"AA==")");
  EXPECT_EQ(payload.Opened(Handle(1), Region()), "");  // 64 bytes are one too many
  EXPECT_FALSE(payload.complete());
  EXPECT_NE(payload.Sent(Buffer(0, 63), {}), "");
  EXPECT_EQ(payload.Sent(Buffer(0, 1), {}), "");
  EXPECT_EQ(payload.taken(), 64u);
  EXPECT_EQ(payload.Summary(), R"("data":{"limit":64,"bytes":64,"complete":false})");
}

TEST_F(PayloadTest, RegionTellsHowItBeganAndEnded) {
  Payload payload(1000);
  EXPECT_EQ(payload.Opened(Handle(1), Region()), R"("zero":true)");
  memory[63] = std::byte{1};
  EXPECT_THAT(payload.Opened(Handle(2), Region()), HasSubstr(R"("data":"AAAA)"));
  const std::string digest = DigestOf(memory);
  EXPECT_EQ(payload.Closed(Handle(1)), R"("digest":")" + digest + "\"");
  EXPECT_EQ(payload.Closed(Handle(1)), "");
  memory[5] = std::byte{7};
  EXPECT_NE(payload.Closed(Handle(2)), R"("digest":")" + digest + "\"");
}

TEST_F(PayloadTest, ReadTellsWhatItGotWhenItHasEnded) {
  Payload payload(1000);
  payload.Reads(3, 9, Buffer(0, 2));
  memory[0] = std::byte{'a'};
  memory[1] = std::byte{'b'};
  EXPECT_EQ(payload.Got(2, 9, true), "");
  EXPECT_EQ(payload.Got(3, 9, true), R"({"op":9,"data":"YWI="})");
  EXPECT_EQ(payload.Got(3, 9, true), "");
  payload.Reads(3, 10, Buffer(0, 2));
  EXPECT_EQ(payload.Got(3, 10, false), "");
}

TEST_F(PayloadTest, MemoryOfADeviceIsNotTouched) {
  Payload payload(1000);
  const MemoryRequest device{.data = reinterpret_cast<std::byte*>(0x1000),
                             .length_bytes = 4096,
                             .kind = MemoryKind::kCuda};
  EXPECT_EQ(payload.Opened(Handle(1), device), "");
  EXPECT_EQ(payload.Sent({device.data + 8, 16, 0}, {}), "");
  payload.Reads(0, 1, {device.data + 8, 16, 0});
  EXPECT_EQ(payload.Got(0, 1, true), "");
  EXPECT_EQ(payload.Closed(Handle(1)), "");
  EXPECT_FALSE(payload.complete());
}

TEST(BytesDigestTest, EveryBitAndTheLengthCount) {
  std::array<std::byte, 41> bytes{};
  const std::string zero = DigestOf(bytes);
  EXPECT_EQ(zero.size(), 32u);
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= std::byte{1} << bit % 8;
    EXPECT_NE(DigestOf(bytes), zero) << bit;
    bytes[bit / 8] ^= std::byte{1} << bit % 8;
  }
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_NE(DigestOf(std::span(bytes).first(length)), zero) << length;
  }
  // The file format's: it must not change.
  EXPECT_EQ(DigestOf({}), "d02355e1a887b27e5cb03097e5197746");
}

}  // namespace
}  // namespace drydock::fabric::capture
