// Posts of several requests at once: which ones a post accepts, and the fate of the others.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "drydock/testing/contract/contract_test.h"

namespace drydock::contract {
namespace {

using fabric::Context;
using fabric::ErrorCode;
using fabric::PostResult;
using fabric::ReadRequest;
using fabric::RecvRequest;
using fabric::SendRequest;
using fabric::WriteRequest;

class BurstContract : public ContractTest {
 protected:
  static constexpr std::size_t kRequests = 16;
  static constexpr std::size_t kStride = 10007;

  PostResult PostWrites(std::span<const WriteRequest> writes) {
    return initiator_.endpoint->Write(writes);
  }

  // Write `i` of a burst: of a length of its own, to a place of its own, which its immediate names.
  WriteRequest WriteNumber(std::size_t i) {
    Fill(Bytes(initiator_, i * kStride, LengthOf(i)), static_cast<std::uint8_t>(i));
    WriteRequest write = WriteOf(i * kStride, LengthOf(i), target_.Remote(PlaceOf(i)), Context{i});
    write.immediate = static_cast<std::uint32_t>(i);
    return write;
  }
  std::vector<WriteRequest> Writes(std::size_t count) {
    std::vector<WriteRequest> writes;
    for (std::size_t i = 0; i < count; ++i) writes.push_back(WriteNumber(i));
    return writes;
  }
  static std::size_t LengthOf(std::size_t i) { return 1 + i * 613; }
  static std::size_t PlaceOf(std::size_t i) { return (i * 7 % kRequests) * kStride; }
  bool Landed(std::size_t i) {
    return Holds(Bytes(target_, PlaceOf(i), LengthOf(i)), static_cast<std::uint8_t>(i));
  }

  // The immediates of the next `count` writes of the peer, in order of their values.
  std::vector<std::uint32_t> TakeImmediates(std::size_t count) {
    std::vector<std::uint32_t> immediates;
    for (std::size_t i = 0; i < count; ++i) {
      immediates.push_back(TakeRemoteWrite(target_).immediate.value_or(UINT32_MAX));
    }
    std::sort(immediates.begin(), immediates.end());
    return immediates;
  }
};

TEST_F(BurstContract, EveryWriteLandsInItsPlaceAndIsToldOnce) {
  const std::vector<WriteRequest> writes = Writes(kRequests);
  const auto post = [&](std::span<const WriteRequest> rest) { return PostWrites(rest); };
  ASSERT_EQ(PostAll<WriteRequest>(writes, post), ErrorCode::kOk);
  std::vector<std::uint32_t> all;
  for (std::size_t i = 0; i < kRequests; ++i) {
    EXPECT_TRUE(Take(initiator_, i).ok()) << i;
    all.push_back(static_cast<std::uint32_t>(i));
  }
  EXPECT_EQ(TakeImmediates(kRequests), all);
  for (std::size_t i = 0; i < kRequests; ++i) EXPECT_TRUE(Landed(i)) << i;
  PumpQuietly();
  EXPECT_TRUE(initiator_.completions.empty());
  EXPECT_TRUE(target_.completions.empty());
}

// With and without an immediate, with and without a context: no field of one is left in the next.
TEST_F(BurstContract, WritesOfEveryKindGoTogether) {
  std::vector<WriteRequest> writes = Writes(8);
  for (std::size_t i = 0; i < writes.size(); ++i) {
    if (i % 2 == 1) writes[i].immediate.reset();
    if (i % 4 >= 2) writes[i].context.reset();
  }
  const auto post = [&](std::span<const WriteRequest> rest) { return PostWrites(rest); };
  ASSERT_EQ(PostAll<WriteRequest>(writes, post), ErrorCode::kOk);
  for (const std::uint64_t i : {0, 1, 4, 5}) EXPECT_TRUE(Take(initiator_, i).ok()) << i;
  EXPECT_EQ(TakeImmediates(4), (std::vector<std::uint32_t>{0, 2, 4, 6}));
  for (std::size_t i = 0; i < writes.size(); ++i) {
    EXPECT_TRUE(PumpUntil([&] { return Landed(i); })) << i;
  }
  PumpQuietly();
  EXPECT_TRUE(initiator_.completions.empty());
  EXPECT_TRUE(target_.completions.empty());
}

// Those before it are under way, and need no further post to get there.
TEST_F(BurstContract, IsAcceptedUpToTheFirstRequestThatIsRefused) {
  Connect();
  std::vector<WriteRequest> writes = Writes(4);
  writes[2].peer = fabric::Peer{123456789};
  std::size_t accepted = 0;
  const auto post = [&](std::span<const WriteRequest> rest) {
    const PostResult result = PostWrites(rest);
    accepted += result.accepted;
    return result;
  };
  EXPECT_EQ(PostAll<WriteRequest>(writes, post), ErrorCode::kUnknownPeer);
  EXPECT_EQ(accepted, 2u);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_TRUE(Take(initiator_, i).ok()) << i;
  EXPECT_EQ(TakeImmediates(2), (std::vector<std::uint32_t>{0, 1}));
  PumpQuietly();
  EXPECT_TRUE(initiator_.completions.empty());
  EXPECT_TRUE(target_.completions.empty());
  for (std::size_t i = 2; i < 4; ++i) {
    EXPECT_TRUE(Untouched(Bytes(target_, PlaceOf(i), LengthOf(i)))) << i;
  }
}

// As many as there is room for are accepted, and need no further post to get there either.
TEST_F(BurstContract, LongerThanTheQueueIsAcceptedInPart) {
  Connect();
  const std::size_t depth = initiator_.endpoint->limits().send_queue_depth;
  std::vector<WriteRequest> writes;
  for (std::size_t i = 0; i < depth + 10; ++i) {
    writes.push_back(WriteOf(i % 1000, 8, target_.Remote(i % 1000), Context{i}));
  }
  PostResult first;
  Post([&] {
    first = PostWrites(writes);
    return first.accepted == 0 ? first.error : ErrorCode::kOk;
  });
  EXPECT_EQ(first.error, ErrorCode::kAgain);
  ASSERT_GT(first.accepted, 0u);
  ASSERT_LE(first.accepted, depth);
  for (std::size_t i = 0; i < first.accepted; ++i) ASSERT_TRUE(Take(initiator_, i).ok()) << i;
  writes.erase(writes.begin(), writes.begin() + static_cast<std::ptrdiff_t>(first.accepted));
  const auto post = [&](std::span<const WriteRequest> rest) { return PostWrites(rest); };
  ASSERT_EQ(PostAll<WriteRequest>(writes, post), ErrorCode::kOk);
  for (std::size_t i = first.accepted; i < depth + 10; ++i) {
    ASSERT_TRUE(Take(initiator_, i).ok()) << i;
  }
  PumpQuietly();
  EXPECT_TRUE(initiator_.completions.empty());
}

TEST_F(BurstContract, OfNothingDoesNothing) {
  const PostResult result = PostWrites({});
  EXPECT_EQ(result.accepted, 0u);
  EXPECT_EQ(result.error, ErrorCode::kOk);
  PumpQuietly();
  EXPECT_TRUE(initiator_.completions.empty());
  EXPECT_TRUE(target_.completions.empty());
}

TEST_F(BurstContract, EveryReadFetchesItsOwnBytes) {
  std::vector<ReadRequest> reads;
  for (std::size_t i = 0; i < kRequests; ++i) {
    Fill(Bytes(target_, PlaceOf(i), LengthOf(i)), static_cast<std::uint8_t>(i));
    reads.push_back(ReadOf(i * kStride, LengthOf(i), target_.Remote(PlaceOf(i)), Context{i}));
  }
  const auto post = [&](std::span<const ReadRequest> rest) {
    return initiator_.endpoint->Read(rest);
  };
  ASSERT_EQ(PostAll<ReadRequest>(reads, post), ErrorCode::kOk);
  for (std::size_t i = 0; i < kRequests; ++i) {
    EXPECT_TRUE(Take(initiator_, i).ok()) << i;
    EXPECT_TRUE(Holds(Bytes(initiator_, i * kStride, LengthOf(i)), static_cast<std::uint8_t>(i)))
        << i;
  }
}

TEST_F(BurstContract, EveryMessageFindsAReceive) {
  std::vector<RecvRequest> receives;
  std::vector<SendRequest> sends;
  for (std::size_t i = 0; i < kRequests; ++i) {
    receives.push_back(RecvOf(i * kStride, kMessageBytes, Context{100 + i}));
    initiator_.memory[i] = static_cast<std::byte>(i + 1);
    sends.push_back(SendOf(i, 1, Context{i}));
  }
  const auto receive = [&](std::span<const RecvRequest> rest) {
    return target_.endpoint->Recv(rest);
  };
  const auto send = [&](std::span<const SendRequest> rest) {
    return initiator_.endpoint->Send(rest);
  };
  ASSERT_EQ(PostAll<RecvRequest>(receives, receive), ErrorCode::kOk);
  ASSERT_EQ(PostAll<SendRequest>(sends, send), ErrorCode::kOk);
  std::set<std::byte> arrived;
  for (std::size_t i = 0; i < kRequests; ++i) {
    EXPECT_TRUE(Take(initiator_, i).ok()) << i;
    EXPECT_TRUE(Take(target_, 100 + i).ok()) << i;
    arrived.insert(target_.memory[i * kStride]);
  }
  EXPECT_EQ(arrived.size(), kRequests);
  EXPECT_FALSE(arrived.contains(std::byte{0}));
}

}  // namespace
}  // namespace drydock::contract
