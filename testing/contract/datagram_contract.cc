// Datagrams: messages of one packet each, that may be lost, behind a prefix that is the provider's.

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "drydock/testing/contract/contract_test.h"

namespace drydock::contract {
namespace {

using fabric::Capability;
using fabric::Completion;
using fabric::Context;
using fabric::ErrorCode;
using fabric::OperationKind;
using testing_matchers::IsOk;

const Needs kNeeds("DatagramContract", {Capability::kDatagram});

class DatagramContract : public ContractTest {
 protected:
  fabric::EndpointOptions Options(Side& side) override {
    fabric::EndpointOptions options = PartsOf(side);
    options.type = fabric::EndpointType::kDatagram;
    return options;
  }

  std::size_t prefix() const { return initiator_.endpoint->limits().datagram_prefix_bytes; }
  std::size_t most() const { return initiator_.endpoint->limits().datagram_bytes; }

  // The program's own bytes, behind the prefix of the buffer at `offset`.
  std::span<std::byte> Payload(Side& side, std::size_t offset, std::size_t length) {
    return Bytes(side, offset + prefix(), length);
  }
  // Lengths are those of the payload.
  ErrorCode SendPayload(std::size_t offset, std::size_t length, std::uint64_t context) {
    return Send(offset, prefix() + length, context);
  }
  ErrorCode RecvPayload(std::size_t offset, std::size_t length, std::uint64_t context) {
    return Recv(offset, prefix() + length, context);
  }
  // Sends until one arrives, since any may be lost, at receive `context`; its completion.
  Completion SendUntilReceived(std::size_t offset, std::size_t length, std::uint64_t context) {
    for (int attempt = 0; attempt < 100; ++attempt) {
      EXPECT_EQ(SendPayload(offset, length, 999), ErrorCode::kOk);
      EXPECT_TRUE(Take(initiator_, 999).ok());
      if (const auto done = TakeIfAny(target_, context)) return *done;
    }
    ADD_FAILURE() << "100 datagrams, and none arrived";
    return Completion();
  }
};

TEST_F(DatagramContract, LimitsAreThoseOfDatagrams) {
  EXPECT_GT(most(), prefix());
  EXPECT_EQ(initiator_.endpoint->limits().datagram_bytes, limits().datagram_bytes);
  EXPECT_LT(most(), std::size_t{65536});  // one packet
}

// A send skips its prefix, a receive leaves its own alone or lets the provider have it, and the
// length counts it.
TEST_F(DatagramContract, PayloadArrivesBehindThePrefix) {
  for (const std::size_t length : {1u, 100u, 1000u}) {
    Fill(Payload(initiator_, 0, length), static_cast<std::uint8_t>(length));
    ASSERT_EQ(RecvPayload(5000, length, 1), ErrorCode::kOk);
    const Completion done = SendUntilReceived(0, length, 1);
    EXPECT_TRUE(done.ok());
    EXPECT_EQ(done.kind, OperationKind::kReceive);
    EXPECT_EQ(done.length_bytes, prefix() + length);
    EXPECT_TRUE(Holds(Payload(target_, 5000, length), static_cast<std::uint8_t>(length)));
    EXPECT_TRUE(Untouched(Bytes(target_, 5000 + prefix() + length, 5000)));
    EXPECT_TRUE(Untouched(Bytes(target_, 0, 5000)));
  }
}

// The bytes in the sender's prefix stay there.
TEST_F(DatagramContract, PrefixIsNotSent) {
  Fill(Bytes(initiator_, 0, prefix()), 200);
  Fill(Payload(initiator_, 0, 50), 3);
  ASSERT_EQ(RecvPayload(5000, 50, 1), ErrorCode::kOk);
  SendUntilReceived(0, 50, 1);
  EXPECT_TRUE(Holds(Payload(target_, 5000, 50), 3));
  EXPECT_EQ(prefix() > 0 && Holds(Bytes(target_, 5000, prefix()), 200), false);
}

TEST_F(DatagramContract, LongestDatagramArrives) {
  const std::size_t length = most() - prefix();
  Fill(Payload(initiator_, 0, length), 9);
  ASSERT_EQ(RecvPayload(50000, length, 1), ErrorCode::kOk);
  EXPECT_EQ(SendUntilReceived(0, length, 1).length_bytes, most());
  EXPECT_TRUE(Holds(Payload(target_, 50000, length), 9));
}

TEST_F(DatagramContract, LongerOnesAreRefused) {
  ErrorCode error = SendPayload(0, most() - prefix() + 1, 1);
  if (error == ErrorCode::kOk) error = Take(initiator_, 1).error;
  EXPECT_EQ(error, ErrorCode::kMessageTooLong);
}

TEST_F(DatagramContract, BufferShorterThanThePrefixIsRefused) {
  if (prefix() == 0) {
    EXPECT_EQ(Recv(0, 0, 1), ErrorCode::kOk);  // nothing is shorter
    EXPECT_EQ(Send(0, 0, 2), ErrorCode::kOk);
    return;
  }
  const fabric::RecvRequest receive = RecvOf(0, prefix() - 1, Context{1});
  EXPECT_EQ(target_.endpoint->Recv(receive), ErrorCode::kInvalidArgument);
  EXPECT_EQ(initiator_.endpoint->Send(SendOf(0, prefix() - 1, Context{2})),
            ErrorCode::kInvalidArgument);
}

// It is lost without a report: the sender's completion says that it was sent.
TEST_F(DatagramContract, DatagramWithoutReceiveMayBeLost) {
  ASSERT_EQ(SendPayload(0, 100, 1), ErrorCode::kOk);
  EXPECT_TRUE(Take(initiator_, 1).ok());
  PumpQuietly();
  EXPECT_TRUE(target_.completions.empty());
  EXPECT_TRUE(Untouched(target_.memory));
}

// Some may be lost, none comes twice, and each is whole.
TEST_F(DatagramContract, EachArrivesAtMostOnce) {
  constexpr std::uint64_t kDatagrams = 20;
  for (std::uint64_t i = 0; i < kDatagrams; ++i) {
    ASSERT_EQ(RecvPayload(i * 1000, 100, i), ErrorCode::kOk);
  }
  for (std::uint64_t i = 0; i < kDatagrams; ++i) {
    Fill(Payload(initiator_, i * 1000, 100), static_cast<std::uint8_t>(i));
    ASSERT_EQ(SendPayload(i * 1000, 100, i), ErrorCode::kOk);
    EXPECT_TRUE(Take(initiator_, i).ok());
  }
  PumpQuietly();
  std::vector<int> seen(kDatagrams, 0);
  for (const Completion& done : target_.completions) {
    ASSERT_TRUE(done.ok());
    const auto place = static_cast<std::uint64_t>(*done.context);
    for (std::uint64_t i = 0; i < kDatagrams; ++i) {
      if (Holds(Payload(target_, place * 1000, 100), static_cast<std::uint8_t>(i))) ++seen[i];
    }
  }
  int arrived = 0;
  for (const int times : seen) {
    EXPECT_LE(times, 1);
    arrived += times;
  }
  EXPECT_EQ(static_cast<std::size_t>(arrived), target_.completions.size());
  EXPECT_GT(arrived, 0);
}

TEST_F(DatagramContract, MemoryCannotBeReached) {
  EXPECT_EQ(initiator_.endpoint->Write(WriteOf(0, 8, target_.Remote(0), Context{1})),
            ErrorCode::kUnsupported);
  EXPECT_EQ(initiator_.endpoint->Read(ReadOf(0, 8, target_.Remote(0), Context{2})),
            ErrorCode::kUnsupported);
}

TEST_F(DatagramContract, UnknownPeerIsRefused) {
  fabric::SendRequest request = SendOf(0, prefix() + 8, Context{1});
  request.peer = fabric::Peer{4711};
  EXPECT_EQ(initiator_.endpoint->Send(request), ErrorCode::kUnknownPeer);
}

TEST_F(DatagramContract, ClosedEndpointPostsNothing) {
  EXPECT_THAT(initiator_.endpoint->Close(), IsOk());
  EXPECT_EQ(initiator_.endpoint->Send(SendOf(0, prefix() + 8, Context{1})), ErrorCode::kClosed);
}

// The peer may be gone; the sender does not hear of it.
TEST_F(DatagramContract, NobodyAnswersForAClosedPeer) {
  EXPECT_THAT(target_.endpoint->Close(), IsOk());
  ASSERT_EQ(SendPayload(0, 100, 1), ErrorCode::kOk);
  EXPECT_TRUE(Take(initiator_, 1).ok());
}

}  // namespace
}  // namespace drydock::contract
