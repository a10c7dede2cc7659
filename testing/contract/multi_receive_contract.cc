// Buffers that take message after message.

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "drydock/testing/contract/contract_test.h"

namespace drydock::contract {
namespace {

using fabric::Capability;
using fabric::Completion;
using fabric::Context;
using fabric::ErrorCode;
using fabric::OperationKind;

const Needs kNeeds("MultiReceiveContract", {Capability::kMultiReceive});

class MultiReceiveContract : public ContractTest {
 protected:
  static constexpr std::uint64_t kBuffer = 1000;

  ErrorCode RecvMany(std::size_t offset, std::size_t length, std::uint64_t context = kBuffer) {
    fabric::RecvRequest request = RecvOf(offset, length, Context{context});
    request.multi = true;
    return Post([&] { return target_.endpoint->Recv(request); });
  }
  // A message of `length` bytes that says `seed`.
  ErrorCode SendPattern(std::size_t length, std::uint8_t seed, std::uint64_t context) {
    Fill(Bytes(initiator_, 0, length), seed);
    const ErrorCode error = Send(0, length, context, seed);
    EXPECT_TRUE(Take(initiator_, context).ok());
    return error;
  }
  // The next message of the buffer is where its completion says, within the buffer, and complete.
  Completion ExpectPattern(std::size_t offset, std::size_t room, std::size_t length,
                           std::uint8_t seed) {
    const Completion done = Take(target_, kBuffer);
    EXPECT_TRUE(done.ok());
    EXPECT_EQ(done.kind, OperationKind::kReceive);
    EXPECT_EQ(done.length_bytes, length);
    EXPECT_EQ(done.immediate, seed);
    const std::byte* begin = target_.memory.data() + offset;
    EXPECT_GE(done.data, begin);
    EXPECT_LE(done.data + length, begin + room);
    if (done.data >= begin && done.data + length <= begin + room) {
      EXPECT_TRUE(Holds(std::span(done.data, length), seed));
    }
    return done;
  }
};

TEST_F(MultiReceiveContract, BufferTakesMessageAfterMessage) {
  constexpr std::size_t kRoom = 100000;
  ASSERT_EQ(RecvMany(500, kRoom), ErrorCode::kOk);
  std::vector<std::pair<std::byte*, std::size_t>> places;
  for (std::uint8_t i = 1; i <= 20; ++i) {
    const std::size_t length = i * 37u % 200 + 1;
    ASSERT_EQ(SendPattern(length, i, i), ErrorCode::kOk);
    const Completion done = ExpectPattern(500, kRoom, length, i);
    EXPECT_FALSE(done.buffer_released);
    places.emplace_back(done.data, length);
  }
  // None lies upon another, and all are still there.
  std::sort(places.begin(), places.end());
  for (std::size_t i = 1; i < places.size(); ++i) {
    EXPECT_LE(places[i - 1].first + places[i - 1].second, places[i].first);
  }
  EXPECT_TRUE(Untouched(Bytes(target_, 0, 500)));
  EXPECT_TRUE(Untouched(Bytes(target_, 500 + kRoom, 1000)));
}

// When less is left than the limit tells, the buffer is the program's, and the last entry says so.
TEST_F(MultiReceiveContract, FullBufferIsReleasedOnce) {
  const std::size_t least = target_.endpoint->limits().multi_receive_bytes;
  ASSERT_GT(least, 0u);
  const std::size_t room = 3 * 1000 + least - 1;
  ASSERT_EQ(RecvMany(0, room), ErrorCode::kOk);
  bool released = false;
  for (std::uint8_t i = 1; i <= 3; ++i) {
    EXPECT_FALSE(released);
    ASSERT_EQ(SendPattern(1000, i, i), ErrorCode::kOk);
    released = ExpectPattern(0, room, 1000, i).buffer_released;
  }
  if (!released) {  // in an entry of its own
    const Completion last = Take(target_, kBuffer);
    EXPECT_TRUE(last.buffer_released);
    EXPECT_EQ(last.length_bytes, 0u);
  }
  const std::vector<std::byte> then(target_.memory.begin(), target_.memory.end());
  ASSERT_EQ(Recv(500000, 1000, 7), ErrorCode::kOk);
  ASSERT_EQ(Send(0, 1000, 8), ErrorCode::kOk);
  EXPECT_TRUE(Take(target_, 7).ok());
  EXPECT_TRUE(std::equal(then.begin(), then.begin() + 500000, target_.memory.begin()));
  PumpQuietly();
  EXPECT_TRUE(target_.completions.empty());
}

TEST_F(MultiReceiveContract, ReleasedBufferCanBePostedAgain) {
  const std::size_t least = target_.endpoint->limits().multi_receive_bytes;
  const std::size_t rounds = 2 * limits().receive_queue_depth + 1;
  for (std::size_t i = 0; i < rounds; ++i) {
    ASSERT_EQ(RecvMany(0, least + 50), ErrorCode::kOk) << i;
    ASSERT_EQ(Send(0, 60, i), ErrorCode::kOk);
    Completion done = Take(target_, kBuffer);
    EXPECT_EQ(done.length_bytes, 60u);
    if (!done.buffer_released) done = Take(target_, kBuffer);
    ASSERT_TRUE(done.buffer_released) << i;
    EXPECT_TRUE(Take(initiator_, i).ok());
  }
}

// Messages that came before it are put into it as well.
TEST_F(MultiReceiveContract, MessagesThatWaitedFillIt) {
  for (std::uint64_t i = 0; i < 5; ++i) {
    Fill(Bytes(initiator_, i * 100, 100), static_cast<std::uint8_t>(i));
    ASSERT_EQ(Send(i * 100, 100, i, static_cast<std::uint32_t>(i)), ErrorCode::kOk);
  }
  PumpQuietly();
  ASSERT_EQ(RecvMany(0, 50000), ErrorCode::kOk);
  std::map<std::uint32_t, int> seen;
  for (int i = 0; i < 5; ++i) {
    const Completion done = Take(target_, kBuffer);
    ASSERT_TRUE(done.immediate.has_value());
    ++seen[*done.immediate];
    EXPECT_TRUE(Holds(std::span(done.data, 100), static_cast<std::uint8_t>(*done.immediate)));
  }
  EXPECT_EQ(seen.size(), 5u);
}

TEST_F(MultiReceiveContract, OtherReceivesTakeOneMessageEach) {
  ASSERT_EQ(Recv(0, 100, 1), ErrorCode::kOk);
  ASSERT_EQ(RecvMany(1000, 50000), ErrorCode::kOk);
  ASSERT_EQ(Send(0, 10, 2), ErrorCode::kOk);
  EXPECT_TRUE(Take(initiator_, 2).ok());
  const Completion plain = Take(target_, 1);
  EXPECT_TRUE(plain.ok());
  EXPECT_EQ(plain.data, nullptr);
  EXPECT_FALSE(plain.buffer_released);
  for (std::uint64_t i = 0; i < 3; ++i) {
    ASSERT_EQ(SendPattern(10, 9, i), ErrorCode::kOk);
    ExpectPattern(1000, 50000, 10, 9);
  }
}

TEST_F(MultiReceiveContract, EmptyMessageTakesNoRoom) {
  ASSERT_EQ(RecvMany(0, 50000), ErrorCode::kOk);
  ASSERT_EQ(Send(0, 0, 1, 5), ErrorCode::kOk);
  const Completion empty = Take(target_, kBuffer);
  EXPECT_EQ(empty.length_bytes, 0u);
  EXPECT_EQ(empty.immediate, 5u);
  ASSERT_EQ(SendPattern(100, 6, 2), ErrorCode::kOk);
  ExpectPattern(0, 50000, 100, 6);
}

// Providers fetch a long message, or get it in pieces: the one that fills the buffer may be there
// before it. The buffer is released once, when both are.
TEST_F(MultiReceiveContract, LongMessageMayOutlastTheOneThatFillsTheBuffer) {
  constexpr std::size_t kLongBytes = 700000;
  Connect();
  const std::size_t least = target_.endpoint->limits().multi_receive_bytes;
  ASSERT_EQ(RecvMany(0, kLongBytes + least), ErrorCode::kOk);
  Fill(Bytes(initiator_, 0, kLongBytes), 3);
  Fill(Bytes(initiator_, kLongBytes, least), 4);
  ASSERT_EQ(Send(0, kLongBytes, 1), ErrorCode::kOk);
  ASSERT_EQ(Send(kLongBytes, least, 2), ErrorCode::kOk);
  std::size_t arrived = 0;
  bool released = false;
  for (int entries = 0; entries < 3 && !released; ++entries) {
    const Completion done = Take(target_, kBuffer);
    EXPECT_TRUE(done.ok());
    arrived += done.length_bytes;
    released = done.buffer_released;
  }
  EXPECT_TRUE(released);
  EXPECT_EQ(arrived, kLongBytes + least);
  EXPECT_TRUE(Holds(Bytes(target_, 0, kLongBytes), 3));
  EXPECT_TRUE(Holds(Bytes(target_, kLongBytes, least), 4));
  ASSERT_EQ(Recv(900000, 1000, 7), ErrorCode::kOk);
  ASSERT_EQ(Send(0, 50, 8), ErrorCode::kOk);
  EXPECT_EQ(Take(target_, 7).length_bytes, 50u);
  PumpQuietly();
  EXPECT_TRUE(target_.completions.empty());
}

TEST_F(MultiReceiveContract, MessageThatDoesNotFitIsTheLast) {
  const std::size_t room = target_.endpoint->limits().multi_receive_bytes + 1000;
  ASSERT_EQ(RecvMany(0, room), ErrorCode::kOk);
  ASSERT_EQ(Send(0, 500, 1), ErrorCode::kOk);
  EXPECT_EQ(Take(target_, kBuffer).length_bytes, 500u);
  ASSERT_EQ(Send(0, room, 2), ErrorCode::kOk);
  const Completion cut = Take(target_, kBuffer);
  EXPECT_EQ(cut.error, ErrorCode::kTruncated);
  if (!cut.buffer_released) {  // in an entry of its own
    EXPECT_TRUE(Take(target_, kBuffer).buffer_released);
  }
  PumpQuietly();
  EXPECT_TRUE(Untouched(Bytes(target_, room, 1000)));
  ASSERT_EQ(Recv(500000, 1000, 7), ErrorCode::kOk);
  ASSERT_EQ(Send(0, 100, 8), ErrorCode::kOk);
  EXPECT_EQ(Take(target_, 7).length_bytes, 100u);
  PumpQuietly();
  EXPECT_TRUE(target_.completions.empty());
}

TEST_F(MultiReceiveContract, BufferIsOfOneSegment) {
  const fabric::LocalBuffer more = target_.Local(200000, 1000);
  fabric::RecvRequest request = RecvOf(0, 100000, Context{kBuffer});
  request.multi = true;
  request.more = {&more, 1};
  EXPECT_EQ(Post([&] { return target_.endpoint->Recv(request); }), ErrorCode::kInvalidArgument);
}

TEST_F(MultiReceiveContract, ItsEndpointCanBeClosed) {
  ASSERT_EQ(RecvMany(0, 50000), ErrorCode::kOk);
  ASSERT_EQ(SendPattern(10, 9, 1), ErrorCode::kOk);
  ExpectPattern(0, 50000, 10, 9);
  EXPECT_THAT(target_.endpoint->Close(), testing_matchers::IsOk());
  PumpQuietly();
  for (const Completion& completion : target_.completions) {
    EXPECT_EQ(completion.error, ErrorCode::kCanceled);
  }
  EXPECT_THAT(target_.queue->Close(), testing_matchers::IsOk());
}

}  // namespace
}  // namespace drydock::contract
