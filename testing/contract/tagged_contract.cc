// Messages that choose their receive by a tag.

#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "drydock/fabric/tagged_messages.h"
#include "drydock/testing/contract/contract_test.h"

namespace drydock::contract {
namespace {

using fabric::Capability;
using fabric::Completion;
using fabric::Context;
using fabric::ErrorCode;
using fabric::OperationKind;
using fabric::Peer;
using fabric::TaggedMessages;
using fabric::TaggedRecvRequest;
using fabric::TaggedSendRequest;

const Needs kNeeds("TaggedContract", {Capability::kTaggedMessages});

class TaggedContract : public ContractTest {
 protected:
  static constexpr std::uint64_t kAllBits = std::numeric_limits<std::uint64_t>::max();

  static TaggedMessages& PowerOf(fabric::Endpoint& endpoint) {
    return *endpoint.power<TaggedMessages>();
  }

  TaggedSendRequest Tagged(std::uint64_t tag, std::size_t offset, std::size_t length,
                           std::optional<Context> context) const {
    return {.buffer = initiator_.Local(offset, length),
            .peer = initiator_.peer,
            .tag = tag,
            .context = context};
  }
  TaggedRecvRequest Matching(std::uint64_t tag, std::size_t offset, std::size_t length,
                             std::optional<Context> context) const {
    return {.buffer = target_.Local(offset, length), .tag = tag, .context = context};
  }
  ErrorCode Post(const TaggedSendRequest& request) {
    return ContractTest::Post([&] { return PowerOf(*initiator_.endpoint).SendTagged(request); });
  }
  ErrorCode Post(const TaggedRecvRequest& request) {
    return ContractTest::Post([&] { return PowerOf(*target_.endpoint).RecvTagged(request); });
  }

  // A message of 8 bytes whose bytes depend on `tag`, as if by Fill.
  ErrorCode SendTag(std::uint64_t tag, std::uint64_t context) {
    Fill(Bytes(initiator_, context * 8, 8), static_cast<std::uint8_t>(tag));
    return Post(Tagged(tag, context * 8, 8, Context{context}));
  }
  // The receive with this context completes with the message of this tag.
  void ExpectTag(std::uint64_t context, std::uint64_t tag) {
    const Completion done = Take(target_, context);
    EXPECT_TRUE(done.ok());
    EXPECT_EQ(done.kind, OperationKind::kTaggedReceive);
    EXPECT_EQ(done.tag, tag);
    EXPECT_EQ(done.length_bytes, 8u);
    EXPECT_TRUE(Holds(Bytes(target_, context * 8, 8), static_cast<std::uint8_t>(tag)));
  }
  ErrorCode RecvTag(std::uint64_t tag, std::uint64_t ignore, std::uint64_t context) {
    TaggedRecvRequest request = Matching(tag, context * 8, 8, Context{context});
    request.ignore = ignore;
    return Post(request);
  }
};

TEST_F(TaggedContract, MessageMeetsTheReceiveOfItsTag) {
  ASSERT_EQ(RecvTag(7, 0, 1), ErrorCode::kOk);
  ASSERT_EQ(SendTag(7, 2), ErrorCode::kOk);
  ExpectTag(1, 7);
  const Completion sent = Take(initiator_, 2);
  EXPECT_TRUE(sent.ok());
  EXPECT_EQ(sent.kind, OperationKind::kTaggedSend);
}

TEST_F(TaggedContract, OtherTagsDoNotMatch) {
  ASSERT_EQ(RecvTag(7, 0, 1), ErrorCode::kOk);
  ASSERT_EQ(SendTag(8, 2), ErrorCode::kOk);
  PumpQuietly();
  EXPECT_TRUE(target_.completions.empty());
  EXPECT_TRUE(Untouched(target_.memory));
  ASSERT_EQ(RecvTag(8, 0, 3), ErrorCode::kOk);
  ExpectTag(3, 8);
  EXPECT_TRUE(Take(initiator_, 2).ok());
}

// Every bit of a tag is the program's.
TEST_F(TaggedContract, EveryBitOfATagCounts) {
  std::uint64_t context = 0;
  for (const std::uint64_t tag : {std::uint64_t{0}, kAllBits, std::uint64_t{1} << 63,
                                  std::uint64_t{1} << 32, std::uint64_t{0x0123456789abcdef}}) {
    const std::uint64_t exact = ++context, flipped = ++context;
    ASSERT_EQ(RecvTag(tag ^ std::uint64_t{1} << (context * 7 % 64), 0, flipped), ErrorCode::kOk);
    ASSERT_EQ(RecvTag(tag, 0, exact), ErrorCode::kOk);
    ASSERT_EQ(SendTag(tag, exact), ErrorCode::kOk);
    ExpectTag(exact, tag);
    EXPECT_TRUE(Take(initiator_, exact).ok());
  }
  EXPECT_TRUE(target_.completions.empty());
}

TEST_F(TaggedContract, IgnoredBitsDoNotCount) {
  ASSERT_EQ(RecvTag(0x1100, 0x00ff, 1), ErrorCode::kOk);
  ASSERT_EQ(SendTag(0x1142, 2), ErrorCode::kOk);
  ExpectTag(1, 0x1142);  // the sender's, not the receive's
  ASSERT_EQ(RecvTag(0x1100, 0x00ff, 3), ErrorCode::kOk);
  ASSERT_EQ(SendTag(0x1242, 4), ErrorCode::kOk);
  PumpQuietly();
  EXPECT_TRUE(target_.completions.empty());
}

TEST_F(TaggedContract, ReceiveThatIgnoresAllBitsTakesAnyTag) {
  for (std::uint64_t i = 0; i < 4; ++i) ASSERT_EQ(RecvTag(i, kAllBits, i), ErrorCode::kOk);
  for (std::uint64_t i = 0; i < 4; ++i) ASSERT_EQ(SendTag(i << 60 | 5, i), ErrorCode::kOk);
  for (std::uint64_t i = 0; i < 4; ++i) ExpectTag(i, i << 60 | 5);
}

// Of the receives that fit, the one that was posted first.
TEST_F(TaggedContract, OldestReceiveThatFitsTakesTheMessage) {
  ASSERT_EQ(RecvTag(9, 0, 1), ErrorCode::kOk);
  ASSERT_EQ(RecvTag(0, kAllBits, 2), ErrorCode::kOk);
  ASSERT_EQ(RecvTag(5, 0, 3), ErrorCode::kOk);
  ASSERT_EQ(SendTag(5, 4), ErrorCode::kOk);
  ExpectTag(2, 5);
  ASSERT_EQ(SendTag(5, 5), ErrorCode::kOk);
  ExpectTag(3, 5);
  ASSERT_EQ(SendTag(9, 6), ErrorCode::kOk);
  ExpectTag(1, 9);
}

TEST_F(TaggedContract, MessagesOfOnePeerMatchInTheOrderOfSending) {
  constexpr std::uint32_t kMessages = 30;
  std::vector<std::uint32_t> arrived, expected(kMessages);
  for (std::uint32_t i = 0; i < kMessages; ++i) ASSERT_EQ(RecvTag(3, 0, i), ErrorCode::kOk);
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    TaggedSendRequest request = Tagged(3, 0, i % 8, Context{i});
    request.immediate = i;
    ASSERT_EQ(Post(request), ErrorCode::kOk);
  }
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    arrived.push_back(Take(target_, i).immediate.value_or(kMessages));
  }
  std::iota(expected.begin(), expected.end(), 0u);
  EXPECT_EQ(arrived, expected);
}

TEST_F(TaggedContract, UnexpectedMessageWaits) {
  ASSERT_EQ(SendTag(4, 1), ErrorCode::kOk);
  PumpQuietly();
  EXPECT_TRUE(target_.completions.empty());
  EXPECT_TRUE(Untouched(target_.memory));
  ASSERT_EQ(RecvTag(4, 0, 2), ErrorCode::kOk);
  ExpectTag(2, 4);
  EXPECT_TRUE(Take(initiator_, 1).ok());
}

TEST_F(TaggedContract, UnexpectedMessagesAreTakenByTag) {
  for (std::uint64_t i = 0; i < 6; ++i) ASSERT_EQ(SendTag(10 + i, i), ErrorCode::kOk);
  PumpQuietly();
  for (const std::uint64_t i : {4u, 0u, 5u, 2u, 1u, 3u}) {
    ASSERT_EQ(RecvTag(10 + i, 0, i), ErrorCode::kOk);
    ExpectTag(i, 10 + i);
  }
}

// The oldest that fits. Where ignored bits do not help against messages that were there first, the
// receive waits, and one that names the tag finds its message.
TEST_F(TaggedContract, WildcardFindsMessagesThatWaitWherePromised) {
  for (std::uint64_t i = 1; i < 4; ++i) ASSERT_EQ(SendTag(0x20 + i, i), ErrorCode::kOk);
  PumpQuietly();
  ASSERT_EQ(RecvTag(0x20, 0xf, 1), ErrorCode::kOk);
  if (Has(Trait::kUnexpectedWildcard)) {
    ExpectTag(1, 0x21);
    ASSERT_EQ(RecvTag(0, kAllBits, 2), ErrorCode::kOk);
    ExpectTag(2, 0x22);
  } else {
    PumpQuietly();
    EXPECT_TRUE(target_.completions.empty());
  }
  ASSERT_EQ(RecvTag(0x23, 0, 3), ErrorCode::kOk);
  ExpectTag(3, 0x23);
}

TEST_F(TaggedContract, TaggedAndUntaggedNeverMatch) {
  ASSERT_EQ(Recv(0, 100, 1), ErrorCode::kOk);
  ASSERT_EQ(RecvTag(0, kAllBits, 2), ErrorCode::kOk);
  ASSERT_EQ(SendTag(0, 3), ErrorCode::kOk);
  ExpectTag(2, 0);
  PumpQuietly();
  EXPECT_TRUE(target_.completions.empty());
  ASSERT_EQ(RecvTag(0, kAllBits, 4), ErrorCode::kOk);
  ASSERT_EQ(Send(0, 50, 5), ErrorCode::kOk);
  EXPECT_EQ(Take(target_, 1).kind, OperationKind::kReceive);
  PumpQuietly();
  EXPECT_TRUE(target_.completions.empty());
}

// Whichever comes first, the message or the receive.
TEST_F(TaggedContract, OverlongMessageIsCut) {
  for (const bool unexpected : {false, true}) {
    const std::uint64_t context = unexpected ? 2 : 1;
    Fill(Bytes(initiator_, 0, 1000), 7);
    if (unexpected) {
      ASSERT_EQ(Post(Tagged(6, 0, 1000, Context{context})), ErrorCode::kOk);
      PumpQuietly();
    }
    ASSERT_EQ(Post(Matching(6, 100, 600, Context{context})), ErrorCode::kOk);
    if (!unexpected) {
      ASSERT_EQ(Post(Tagged(6, 0, 1000, Context{context})), ErrorCode::kOk);
    }
    const Completion cut = Take(target_, context);
    EXPECT_EQ(cut.error, ErrorCode::kTruncated) << context;
    EXPECT_EQ(cut.kind, OperationKind::kTaggedReceive) << context;
    EXPECT_TRUE(Untouched(Bytes(target_, 0, 100))) << context;
    EXPECT_TRUE(Untouched(Bytes(target_, 700, kMemoryBytes - 700))) << context;
    EXPECT_TRUE(Take(initiator_, context).ok()) << context;
    PumpQuietly();
  }
}

const Needs kLongCut("TaggedContract.LongMessageIsCut",
                     {Capability::kLongMessages, Trait::kLongTruncation});
TEST_F(TaggedContract, LongMessageIsCut) {
  Fill(Bytes(initiator_, 0, 300000), 7);
  ASSERT_EQ(Post(Matching(6, 100, 5000, Context{1})), ErrorCode::kOk);
  ASSERT_EQ(Post(Tagged(6, 0, 300000, Context{2})), ErrorCode::kOk);
  EXPECT_EQ(Take(target_, 1).error, ErrorCode::kTruncated);
  EXPECT_TRUE(Holds(Bytes(target_, 100, 5000), 7));
  PumpQuietly();
  EXPECT_TRUE(Untouched(Bytes(target_, 0, 100)));
  EXPECT_TRUE(Untouched(Bytes(target_, 5100, kMemoryBytes - 5100)));
}

const Needs kLong("TaggedContract.LongMessageArrives", {Capability::kLongMessages});
TEST_F(TaggedContract, LongMessageArrives) {
  for (const bool unexpected : {false, true}) {
    const std::uint64_t context = unexpected ? 2 : 1;
    Fill(Bytes(initiator_, 0, 300000), static_cast<std::uint8_t>(context));
    if (!unexpected) {
      ASSERT_EQ(Post(Matching(1, 0, 300000, Context{context})), ErrorCode::kOk);
    }
    ASSERT_EQ(Post(Tagged(1, 0, 300000, Context{context})), ErrorCode::kOk);
    if (unexpected) {
      PumpQuietly();
      ASSERT_EQ(Post(Matching(1, 0, 300000, Context{context})), ErrorCode::kOk);
    }
    EXPECT_EQ(Take(target_, context).length_bytes, 300000u);
    EXPECT_TRUE(Holds(Bytes(target_, 0, 300000), static_cast<std::uint8_t>(context)));
    EXPECT_TRUE(Take(initiator_, context).ok());
  }
}

TEST_F(TaggedContract, ShortMessageLeavesTheRestAlone) {
  Fill(Bytes(initiator_, 0, 33), 5);
  ASSERT_EQ(Post(Matching(1, 100, 1000, Context{1})), ErrorCode::kOk);
  ASSERT_EQ(Post(Tagged(1, 0, 33, Context{2})), ErrorCode::kOk);
  EXPECT_EQ(Take(target_, 1).length_bytes, 33u);
  EXPECT_TRUE(Holds(Bytes(target_, 100, 33), 5));
  EXPECT_TRUE(Untouched(Bytes(target_, 133, 2000)));
}

TEST_F(TaggedContract, EmptyMessageHasATagAndAnImmediate) {
  TaggedSendRequest request = Tagged(77, 0, 0, Context{1});
  request.immediate = 0x80000001u;
  ASSERT_EQ(Post(Matching(77, 0, 100, Context{2})), ErrorCode::kOk);
  ASSERT_EQ(Post(request), ErrorCode::kOk);
  const Completion done = Take(target_, 2);
  EXPECT_EQ(done.tag, 77u);
  EXPECT_EQ(done.length_bytes, 0u);
  EXPECT_EQ(done.immediate, 0x80000001u);
  EXPECT_TRUE(Untouched(target_.memory));
  EXPECT_TRUE(Take(initiator_, 1).ok());
}

TEST_F(TaggedContract, MessageWithoutImmediateHasNone) {
  ASSERT_EQ(RecvTag(1, 0, 1), ErrorCode::kOk);
  ASSERT_EQ(SendTag(1, 2), ErrorCode::kOk);
  EXPECT_EQ(Take(target_, 1).immediate, std::nullopt);
}

TEST_F(TaggedContract, SuccessWithoutContextIsSilent) {
  Fill(Bytes(initiator_, 0, 100), 3);
  ASSERT_EQ(Post(Matching(1, 0, 100, std::nullopt)), ErrorCode::kOk);
  ASSERT_EQ(Post(Tagged(1, 0, 100, std::nullopt)), ErrorCode::kOk);
  EXPECT_TRUE(PumpUntil([&] { return Holds(Bytes(target_, 0, 100), 3); }));
  PumpQuietly();
  EXPECT_TRUE(target_.completions.empty());
  EXPECT_TRUE(initiator_.completions.empty());
}

TEST_F(TaggedContract, BatchIsMatchedMessageByMessage) {
  std::vector<TaggedSendRequest> sends;
  std::vector<TaggedRecvRequest> receives;
  for (std::uint64_t i = 0; i < 20; ++i) {
    Fill(Bytes(initiator_, i * 8, 8), static_cast<std::uint8_t>(i));
    sends.push_back(Tagged(i, i * 8, 8, Context{i}));
    receives.push_back(Matching(19 - i, (19 - i) * 8, 8, Context{19 - i}));
  }
  const auto receive = [&](std::span<const TaggedRecvRequest> requests) {
    return PowerOf(*target_.endpoint).RecvTagged(requests);
  };
  const auto send = [&](std::span<const TaggedSendRequest> requests) {
    return PowerOf(*initiator_.endpoint).SendTagged(requests);
  };
  ASSERT_EQ(PostAll<TaggedRecvRequest>(receives, receive), ErrorCode::kOk);
  ASSERT_EQ(PostAll<TaggedSendRequest>(sends, send), ErrorCode::kOk);
  for (std::uint64_t i = 0; i < 20; ++i) {
    ExpectTag(i, i);
    EXPECT_TRUE(Take(initiator_, i).ok());
  }
}

TEST_F(TaggedContract, QueueThatIsFullIsFreedByReading) {
  const std::size_t messages = 2 * limits().send_queue_depth;
  for (std::size_t i = 0; i < messages; ++i) {
    ASSERT_EQ(Post(Matching(i, 0, 1, Context{i})), ErrorCode::kOk) << i;
    ASSERT_EQ(Post(Tagged(i, 0, 1, Context{i})), ErrorCode::kOk) << i;
    EXPECT_EQ(Take(target_, i).tag, i);
  }
}

TEST_F(TaggedContract, UnknownPeerIsRefused) {
  TaggedSendRequest request = Tagged(1, 0, 8, Context{1});
  request.peer = Peer{12345};
  EXPECT_EQ(PowerOf(*initiator_.endpoint).SendTagged(request), ErrorCode::kUnknownPeer);
}

TEST_F(TaggedContract, MessageOverTheLimitIsRefused) {
  if (limits().max_message_bytes < kMemoryBytes) {
    const TaggedSendRequest request =
        Tagged(1, 0, static_cast<std::size_t>(limits().max_message_bytes) + 1, Context{1});
    EXPECT_EQ(PowerOf(*initiator_.endpoint).SendTagged(request), ErrorCode::kMessageTooLong);
  } else {
    ASSERT_EQ(Post(Matching(1, 0, kMemoryBytes, Context{1})), ErrorCode::kOk);
    ASSERT_EQ(Post(Tagged(1, 0, kMemoryBytes, Context{1})), ErrorCode::kOk);
    EXPECT_EQ(Take(target_, 1).length_bytes, kMemoryBytes);
  }
}

TEST_F(TaggedContract, ClosedEndpointPostsNothing) {
  TaggedMessages& power = PowerOf(*initiator_.endpoint);
  EXPECT_THAT(initiator_.endpoint->Close(), testing_matchers::IsOk());
  EXPECT_EQ(power.SendTagged(Tagged(1, 0, 8, Context{1})), ErrorCode::kClosed);
  EXPECT_EQ(power.RecvTagged(Matching(1, 0, 8, Context{1})), ErrorCode::kClosed);
}

TEST_F(TaggedContract, PostedReceivesEndWithTheirEndpoint) {
  for (std::uint64_t i = 0; i < 10; ++i) ASSERT_EQ(RecvTag(i, 0, i), ErrorCode::kOk);
  EXPECT_THAT(target_.endpoint->Close(), testing_matchers::IsOk());
  PumpQuietly();
  for (const Completion& completion : target_.completions) {
    EXPECT_EQ(completion.error, ErrorCode::kCanceled);
  }
  EXPECT_THAT(target_.queue->Close(), testing_matchers::IsOk());
}

}  // namespace
}  // namespace drydock::contract
