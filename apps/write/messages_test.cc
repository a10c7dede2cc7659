#include "drydock/apps/write/messages.h"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::apps::write {
namespace {

using ::drydock::testing_matchers::IsOk;
using ::drydock::testing_matchers::StatusIs;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

ConnectMessage Connect() {
  ConnectMessage message{.session = 0x1122334455667788,
                         .address = *fabric::Address::Parse(std::string(64, 'a'))};
  message.regions[0] = {{0x7f0000001000, 0xabcd}, kRegionBytes};
  message.regions[1] = {{0, 0xffffffffffffffff}, 4096};
  return message;
}

RandomFillMessage Request() {
  RandomFillMessage request;
  request.session = 7;
  request.remote_context = 0x123;
  request.completion = CompletionMode::kLast;
  request.data_seed = 99;
  request.page_bytes = 65536;
  request.page_indices = {5, 0, 255, 17};
  return request;
}

TEST(MessagesTest, ConnectRoundTrips) {
  ASSERT_OK_AND_ASSIGN(const Message decoded, Decode(Encode(Connect())));
  const auto& message = std::get<ConnectMessage>(decoded);
  EXPECT_EQ(message.session, 0x1122334455667788u);
  EXPECT_EQ(message.address, Connect().address);
  EXPECT_EQ(message.regions[0].remote.address, 0x7f0000001000u);
  EXPECT_EQ(message.regions[0].length_bytes, kRegionBytes);
  EXPECT_EQ(message.regions[1].remote.key, 0xffffffffffffffffu);
}

TEST(MessagesTest, RequestRoundTrips) {
  ASSERT_OK_AND_ASSIGN(const Message decoded, Decode(Encode(Request())));
  const auto& message = std::get<RandomFillMessage>(decoded);
  EXPECT_EQ(message.completion, CompletionMode::kLast);
  EXPECT_EQ(message.data_seed, 99u);
  EXPECT_EQ(message.page_bytes, 65536u);
  EXPECT_EQ(message.page_indices, Request().page_indices);
}

TEST(MessagesTest, RefusalIsPrintableWhateverThePeerSends) {
  ASSERT_OK_AND_ASSIGN(const Message decoded, Decode(Encode(RefusedMessage{3, "no\x1b[31m\n"})));
  EXPECT_EQ(std::get<RefusedMessage>(decoded).reason, "no?[31m?");
}

// Every prefix of every message is refused with one clear line.
TEST(MessagesTest, TruncationIsRefusedAtEveryByte) {
  for (const Message& message :
       {Message(Connect()), Message(Request()), Message(RefusedMessage{1, "no"})}) {
    const std::vector<std::byte> bytes = Encode(message);
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      EXPECT_THAT(Decode(std::span(bytes).first(length)),
                  StatusIs(kInvalid, HasSubstr("corrupt message")))
          << length;
    }
  }
}

TEST(MessagesTest, WhatIsNotOursIsRefused) {
  std::vector<std::byte> bytes = Encode(Connect());
  bytes.push_back(std::byte{0});
  EXPECT_THAT(Decode(bytes), StatusIs(kInvalid, HasSubstr("1 bytes too many")));
  bytes = Encode(Connect());
  bytes[0] ^= std::byte{1};
  EXPECT_THAT(Decode(bytes), StatusIs(kInvalid, HasSubstr("not one of ours")));
  bytes = Encode(Connect());
  bytes[4] = std::byte{9};
  EXPECT_THAT(Decode(bytes), StatusIs(kInvalid, HasSubstr("version 9")));
  bytes = Encode(Connect());
  bytes[6] = std::byte{9};
  EXPECT_THAT(Decode(bytes), StatusIs(kInvalid, HasSubstr("type 9")));
  bytes = Encode(Request());
  bytes[20] = std::byte{2};
  EXPECT_THAT(Decode(bytes), StatusIs(kInvalid, HasSubstr("completion mode 2")));
}

// Any bytes at all: refused or decoded, never a crash (the sanitizers watch), never a huge
// allocation.
TEST(MessagesTest, AnyBytesAreSafe) {
  const std::uint64_t seed = ::testing::UnitTest::GetInstance()->random_seed();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const std::vector<std::vector<std::byte>> originals = {Encode(Connect()), Encode(Request()),
                                                         Encode(RefusedMessage{1, "no"})};
  int decoded = 0;
  for (int round = 0; round < 50'000; ++round) {
    std::vector<std::byte> bytes = originals[random() % originals.size()];
    for (std::uint64_t flips = random() % 4; flips > 0; --flips) {
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    }
    const absl::StatusOr<Message> message = Decode(bytes);
    if (!message.ok()) continue;
    ++decoded;
    if (const auto* request = std::get_if<RandomFillMessage>(&*message)) {
      CheckRequest(*request, kRegionBytes).IgnoreError();
    }
  }
  EXPECT_GT(decoded, 1000);
}

TEST(CheckRequestTest, AcceptsTheDefaultsAndTheExtremes) {
  const PageList request{.page_bytes = kDefaultPageBytes,
                         .page_indices = {0, 1, 2, 3, 4, 5, 6, 15}};
  EXPECT_THAT(CheckRequest(request, kRegionBytes), IsOk());
  EXPECT_THAT(CheckRequest({.page_bytes = kRegionBytes, .page_indices = {0}}, kRegionBytes),
              IsOk());
  EXPECT_THAT(CheckRequest({.page_bytes = 1, .page_indices = {kRegionBytes - 1}}, kRegionBytes),
              IsOk());
}

TEST(CheckRequestTest, RefusesWhatMakesNoSense) {
  const auto check = [](std::uint64_t page_bytes, std::vector<std::uint32_t> indices) {
    return CheckRequest({.page_bytes = page_bytes, .page_indices = std::move(indices)},
                        kRegionBytes);
  };
  EXPECT_THAT(check(3, {0}), StatusIs(kInvalid, HasSubstr("page size 3 does not divide")));
  EXPECT_THAT(check(0, {0}), StatusIs(kInvalid, HasSubstr("page size 0")));
  EXPECT_THAT(check(2 * kRegionBytes, {0}), StatusIs(kInvalid, HasSubstr("does not divide")));
  EXPECT_THAT(check(~0ull, {0}), StatusIs(kInvalid, HasSubstr("does not divide")));
  EXPECT_THAT(check(1 << 20, {}), StatusIs(kInvalid, HasSubstr("no pages")));
  EXPECT_THAT(check(1 << 20, {16}),
              StatusIs(kInvalid, HasSubstr("page index 16 is past the region")));
  EXPECT_THAT(check(1 << 20, {~0u}), StatusIs(kInvalid, HasSubstr("past the region")));
  EXPECT_THAT(check(1 << 20, {3, 4, 3}), StatusIs(kInvalid, HasSubstr("page 3 comes twice")));
  EXPECT_THAT(check(8 << 20, {0, 1, 0}), StatusIs(kInvalid, HasSubstr("3 pages are asked for")));
  EXPECT_THAT(check(4096, std::vector<std::uint32_t>(3000)),
              StatusIs(kInvalid, HasSubstr("do not fit a message")));
}

TEST(CheckRequestTest, LargestRequestFitsItsMessage) {
  RandomFillMessage request;
  request.page_bytes = 4096;
  for (std::uint32_t i = 0; CheckRequest(request, kRegionBytes).ok() || i == 0; ++i) {
    request.page_indices.push_back(i);
  }
  request.page_indices.pop_back();
  ASSERT_THAT(CheckRequest(request, kRegionBytes), IsOk());
  EXPECT_LE(Encode(request).size(), kMessageBytes);
  EXPECT_GT(Encode(request).size() + sizeof(std::uint32_t), kMessageBytes);
}

}  // namespace
}  // namespace drydock::apps::write
