// Sends and writes whose bytes are taken during the post.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "drydock/fabric/tagged_messages.h"
#include "drydock/testing/contract/contract_test.h"

namespace drydock::contract {
namespace {

using fabric::Capability;
using fabric::Completion;
using fabric::Context;
using fabric::ErrorCode;
using fabric::LocalBuffer;
using fabric::OperationKind;
using fabric::SendRequest;
using fabric::TaggedMessages;
using fabric::WriteRequest;
using ::testing::HasSubstr;
using testing_matchers::StatusIs;

const Needs kNeeds("InjectContract", {Capability::kInject});

class InjectContract : public ContractTest {
 protected:
  std::size_t most() const { return initiator_.endpoint->limits().inject_bytes; }

  SendRequest Injected(std::size_t length, std::optional<Context> context) const {
    SendRequest request = SendOf(0, length, context);
    request.inject = true;
    return request;
  }
  ErrorCode PostSend(const SendRequest& request) {
    return Post([&] { return initiator_.endpoint->Send(request); });
  }
  ErrorCode PostWrite(const WriteRequest& request) {
    return Post([&] { return initiator_.endpoint->Write(request); });
  }
};

TEST_F(InjectContract, BufferIsFreeAtOnce) {
  ASSERT_GT(most(), 0u);
  for (const std::size_t length : {std::size_t{1}, most() / 2 + 1, most()}) {
    Fill(Bytes(initiator_, 0, length), 3);
    ASSERT_EQ(Recv(0, length, 1), ErrorCode::kOk);
    ASSERT_EQ(PostSend(Injected(length, Context{2})), ErrorCode::kOk);
    Fill(Bytes(initiator_, 0, length), 200);
    EXPECT_EQ(Take(target_, 1).length_bytes, length);
    EXPECT_TRUE(Holds(Bytes(target_, 0, length), 3)) << length;
    EXPECT_TRUE(Take(initiator_, 2).ok());
  }
}

TEST_F(InjectContract, CompletionIsThatOfASend) {
  ASSERT_EQ(Recv(0, 8, 1), ErrorCode::kOk);
  ASSERT_EQ(PostSend(Injected(8, Context{2})), ErrorCode::kOk);
  const Completion done = Take(initiator_, 2);
  EXPECT_TRUE(done.ok());
  EXPECT_EQ(done.kind, OperationKind::kSend);
  PumpQuietly();
  EXPECT_TRUE(initiator_.completions.empty());
}

TEST_F(InjectContract, BufferNeedsNoRegistration) {
  std::vector<std::byte> own(most());
  Fill(own, 4);
  SendRequest request = Injected(0, Context{2});
  request.buffer = LocalBuffer{.data = own.data(), .length_bytes = own.size()};
  ASSERT_EQ(Recv(0, own.size(), 1), ErrorCode::kOk);
  ASSERT_EQ(PostSend(request), ErrorCode::kOk);
  std::fill(own.begin(), own.end(), std::byte{0});
  EXPECT_TRUE(Take(target_, 1).ok());
  EXPECT_TRUE(Holds(Bytes(target_, 0, own.size()), 4));
}

TEST_F(InjectContract, TooMuchIsRefused) {
  ASSERT_LT(most(), kMemoryBytes);
  ASSERT_EQ(Recv(0, most() + 1, 1), ErrorCode::kOk);
  EXPECT_EQ(initiator_.endpoint->Send(Injected(most() + 1, Context{2})),
            ErrorCode::kMessageTooLong);
  PumpQuietly();
  EXPECT_TRUE(target_.completions.empty());
  EXPECT_TRUE(initiator_.completions.empty());
}

TEST_F(InjectContract, OneBufferServesManyMessages) {
  constexpr std::uint64_t kMessages = 40;
  for (std::uint64_t i = 0; i < kMessages; ++i) ASSERT_EQ(Recv(i * 64, 64, i), ErrorCode::kOk);
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    Fill(Bytes(initiator_, 0, 30), static_cast<std::uint8_t>(i));
    SendRequest request = Injected(30, Context{i});
    request.immediate = static_cast<std::uint32_t>(i);
    ASSERT_EQ(PostSend(request), ErrorCode::kOk);
  }
  std::array<int, kMessages> seen{};
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    const std::uint32_t message = Take(target_, i).immediate.value_or(0);
    ASSERT_LT(message, kMessages);
    ++seen[message];
    EXPECT_TRUE(Holds(Bytes(target_, i * 64, 30), static_cast<std::uint8_t>(message)));
    EXPECT_TRUE(Take(initiator_, i).ok());
  }
  for (const int count : seen) EXPECT_EQ(count, 1);
}

TEST_F(InjectContract, EmptyMessageCanBeInjected) {
  SendRequest request = Injected(0, Context{2});
  request.immediate = 9;
  ASSERT_EQ(Recv(0, 8, 1), ErrorCode::kOk);
  ASSERT_EQ(PostSend(request), ErrorCode::kOk);
  EXPECT_EQ(Take(target_, 1).immediate, 9u);
}

TEST_F(InjectContract, SuccessWithoutContextIsSilent) {
  ASSERT_EQ(Recv(0, 8, 1), ErrorCode::kOk);
  ASSERT_EQ(PostSend(Injected(8, std::nullopt)), ErrorCode::kOk);
  EXPECT_TRUE(Take(target_, 1).ok());
  PumpQuietly();
  EXPECT_TRUE(initiator_.completions.empty());
}

TEST_F(InjectContract, SegmentsCanBeInjected) {
  const std::array more = {initiator_.Local(100, 4)};
  SendRequest request = Injected(4, Context{2});
  request.more = more;
  ASSERT_EQ(Recv(0, 8, 1), ErrorCode::kOk);
  Fill(Bytes(initiator_, 0, 4), 1);
  Fill(Bytes(initiator_, 100, 4), 2);
  const ErrorCode posted = PostSend(request);
  if (initiator_.endpoint->limits().send_segments < 2) {
    EXPECT_EQ(posted, ErrorCode::kInvalidArgument);
    return;
  }
  ASSERT_EQ(posted, ErrorCode::kOk);
  Fill(Bytes(initiator_, 0, 200), 99);
  EXPECT_EQ(Take(target_, 1).length_bytes, 8u);
  EXPECT_TRUE(Holds(Bytes(target_, 0, 4), 1));
  EXPECT_TRUE(Holds(Bytes(target_, 4, 4), 2));
}

// On EFA only large work requests carry the bytes of a write: without them its limit is 0.
TEST_F(InjectContract, WriteCanBeInjectedUpToItsLimit) {
  const std::size_t most_of_write = initiator_.endpoint->limits().inject_rma_bytes;
  WriteRequest request = WriteOf(0, most_of_write + 1, target_.Remote(0), Context{1});
  request.inject = true;
  EXPECT_EQ(initiator_.endpoint->Write(request), ErrorCode::kMessageTooLong);
  if (most_of_write == 0) return;
  for (const std::size_t length : {std::size_t{1}, most_of_write}) {
    Fill(Bytes(initiator_, 0, length), 3);
    request = WriteOf(0, length, target_.Remote(0), Context{length});
    request.inject = true;
    request.immediate = 5;
    ASSERT_EQ(PostWrite(request), ErrorCode::kOk);
    Fill(Bytes(initiator_, 0, length), 200);
    EXPECT_EQ(TakeRemoteWrite(target_).immediate, 5u);
    EXPECT_TRUE(Holds(Bytes(target_, 0, length), 3)) << length;
    EXPECT_EQ(Take(initiator_, length).kind, OperationKind::kWrite);
  }
}

const Needs kTagged("InjectContract.TaggedMessageCanBeInjected", {Capability::kTaggedMessages});
TEST_F(InjectContract, TaggedMessageCanBeInjected) {
  auto& power = *initiator_.endpoint->power<TaggedMessages>();
  const fabric::TaggedRecvRequest receive{
      .buffer = target_.Local(0, 100), .tag = 5, .context = Context{1}};
  fabric::TaggedSendRequest send{.buffer = initiator_.Local(0, 30),
                                 .peer = initiator_.peer,
                                 .tag = 5,
                                 .context = Context{2},
                                 .inject = true};
  Fill(Bytes(initiator_, 0, 30), 3);
  ASSERT_EQ(Post([&] { return target_.endpoint->power<TaggedMessages>()->RecvTagged(receive); }),
            ErrorCode::kOk);
  ASSERT_EQ(Post([&] { return power.SendTagged(send); }), ErrorCode::kOk);
  Fill(Bytes(initiator_, 0, 30), 200);
  EXPECT_TRUE(Take(target_, 1).ok());
  EXPECT_TRUE(Holds(Bytes(target_, 0, 30), 3));
  send.buffer = initiator_.Local(0, most() + 1);
  EXPECT_EQ(power.SendTagged(send), ErrorCode::kMessageTooLong);
}

// A wish for more: granted, and then kept, or refused by name.
TEST_F(InjectContract, MoreCanBeWishedFor) {
  const std::size_t wish = most() + 8;
  fabric::EndpointOptions options = PartsOf(initiator_);
  options.inject_bytes = wish;
  absl::StatusOr<std::unique_ptr<fabric::Endpoint>> opened =
      initiator_.domain->OpenEndpoint(options);
  if (!opened.ok()) {
    EXPECT_THAT(opened.status(),
                StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("inject_bytes")));
    return;
  }
  initiator_.endpoint = *std::move(opened);
  ASSERT_TRUE(target_.peers->Insert(initiator_.endpoint->address()).ok());
  EXPECT_GE(most(), wish);
  Fill(Bytes(initiator_, 0, wish), 3);
  ASSERT_EQ(Recv(0, wish, 1), ErrorCode::kOk);
  ASSERT_EQ(PostSend(Injected(wish, Context{2})), ErrorCode::kOk);
  Fill(Bytes(initiator_, 0, wish), 200);
  EXPECT_EQ(Take(target_, 1).length_bytes, wish);
  EXPECT_TRUE(Holds(Bytes(target_, 0, wish), 3));
}

TEST_F(InjectContract, SmallWishIsGrantedByTheDefault) {
  fabric::EndpointOptions options = PartsOf(initiator_);
  options.inject_bytes = 1;
  ASSERT_OK_AND_ASSIGN(auto endpoint, initiator_.domain->OpenEndpoint(options));
  EXPECT_EQ(endpoint->limits().inject_bytes, most());
  EXPECT_EQ(endpoint->limits().send_queue_depth, limits().send_queue_depth);
}

TEST_F(InjectContract, WishBeyondAllBoundsIsRefused) {
  fabric::EndpointOptions options = PartsOf(initiator_);
  options.inject_bytes = std::size_t{1} << 40;
  EXPECT_THAT(initiator_.domain->OpenEndpoint(options).status(),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("inject_bytes")));
}

}  // namespace
}  // namespace drydock::contract
