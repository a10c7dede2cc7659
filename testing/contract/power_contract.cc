// A backend that is asked for a power or an option gives it exactly when it has the capability.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "drydock/fabric/atomics.h"
#include "drydock/fabric/cancel.h"
#include "drydock/fabric/tagged_messages.h"
#include "drydock/testing/contract/contract_test.h"

namespace drydock::contract {
namespace {

using fabric::Capability;
using fabric::Context;
using fabric::EndpointOptions;
using fabric::ErrorCode;
using ::testing::HasSubstr;
using testing_matchers::IsOk;
using testing_matchers::StatusIs;

class PowerContract : public ContractTest {
 protected:
  // Opening succeeds exactly where the NIC has the capability; the refusal names the option.
  void ExpectOption(const EndpointOptions& options, Capability capability, const char* option) {
    const absl::Status status = target_.domain->OpenEndpoint(options).status();
    if (Has(capability)) {
      EXPECT_THAT(status, IsOk());
    } else {
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnimplemented, HasSubstr(option)));
    }
  }
};

TEST_F(PowerContract, TaggedMessagesAreThereWherePromised) {
  EXPECT_EQ(target_.endpoint->power<fabric::TaggedMessages>() != nullptr,
            Has(Capability::kTaggedMessages));
}

TEST_F(PowerContract, CancelIsThereWherePromised) {
  EXPECT_EQ(target_.endpoint->power<fabric::Cancel>() != nullptr, Has(Capability::kCancel));
}

TEST_F(PowerContract, AtomicsAreThereWherePromised) {
  EXPECT_EQ(target_.endpoint->power<fabric::Atomics>() != nullptr, Has(Capability::kAtomics));
}

TEST_F(PowerContract, UnknownPowersAreRefused) {
  static constexpr fabric::PowerId kInvented{"TaggedMessages"};  // the name is not the power
  EXPECT_EQ(target_.endpoint->QueryPower(kInvented), nullptr);
  EXPECT_EQ(target_.queue->QueryPower(kInvented), nullptr);
  EXPECT_EQ(target_.domain->QueryPower(kInvented), nullptr);
  EXPECT_EQ(target_.peers->QueryPower(kInvented), nullptr);
}

TEST_F(PowerContract, CountersCanBeOpenedWherePromised) {
  const absl::Status status = target_.domain->OpenCounter().status();
  if (Has(Capability::kCounters)) {
    EXPECT_THAT(status, IsOk());
  } else {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("counter")));
  }
}

TEST_F(PowerContract, QueuesCanBlockWherePromised) {
  EXPECT_EQ(target_.queue->power<fabric::BlockingWait>(), nullptr);  // it was not asked for
  const auto queue = target_.domain->OpenCompletionQueue({.blocking_wait = true});
  if (Has(Capability::kBlockingWait)) {
    ASSERT_THAT(queue.status(), IsOk());
    EXPECT_NE((*queue)->power<fabric::BlockingWait>(), nullptr);
  } else {
    EXPECT_THAT(queue.status(), StatusIs(absl::StatusCode::kUnimplemented));
  }
}

TEST_F(PowerContract, SendersAreNamedWherePromised) {
  const absl::Status status =
      target_.domain->OpenCompletionQueue({.source_addresses = true}).status();
  if (Has(Capability::kSourceAddress)) {
    EXPECT_THAT(status, IsOk());
  } else {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("source_addresses")));
  }
}

TEST_F(PowerContract, DirectedReceiveIsTakenWherePromised) {
  fabric::RecvRequest request = RecvOf(0, 100, Context{1});
  request.source = target_.peer;
  EXPECT_EQ(Post([&] { return target_.endpoint->Recv(request); }),
            Has(Capability::kDirectedReceive) ? ErrorCode::kOk : ErrorCode::kUnsupported);
}

TEST_F(PowerContract, MultiReceiveIsTakenWherePromised) {
  fabric::RecvRequest request = RecvOf(0, 100000, Context{1});
  request.multi = true;
  EXPECT_EQ(Post([&] { return target_.endpoint->Recv(request); }),
            Has(Capability::kMultiReceive) ? ErrorCode::kOk : ErrorCode::kUnsupported);
  EXPECT_EQ(limits().multi_receive_bytes > 0, Has(Capability::kMultiReceive));
}

TEST_F(PowerContract, InjectIsTakenWherePromised) {
  ASSERT_EQ(Recv(0, 100, 1), ErrorCode::kOk);
  fabric::SendRequest request = SendOf(0, 1, Context{2});
  request.inject = true;
  EXPECT_EQ(Post([&] { return initiator_.endpoint->Send(request); }),
            Has(Capability::kInject) ? ErrorCode::kOk : ErrorCode::kUnsupported);
  EXPECT_EQ(limits().inject_bytes > 0, Has(Capability::kInject));
}

TEST_F(PowerContract, RetriesCanBeChosenWherePromised) {
  for (const std::uint32_t retries : {0u, 3u, 7u}) {
    EndpointOptions options = PartsOf(target_);
    options.receiver_not_ready_retries = retries;
    ExpectOption(options, Capability::kReceiverNotReadyRetry, "receiver_not_ready_retries");
  }
}

TEST_F(PowerContract, ReceivesCanTakeImmediatesWherePromised) {
  EndpointOptions options = PartsOf(target_);
  options.receives_take_immediates = true;
  ExpectOption(options, Capability::kSolicitedImmediate, "receives_take_immediates");
}

TEST_F(PowerContract, DatagramEndpointsCanBeOpenedWherePromised) {
  EndpointOptions options = PartsOf(target_);
  options.type = fabric::EndpointType::kDatagram;
  ExpectOption(options, Capability::kDatagram, "datagram");
  EXPECT_EQ(limits().datagram_bytes > 0, Has(Capability::kDatagram));
}

// A refused option leaves nothing behind: the same parts make an ordinary endpoint.
TEST_F(PowerContract, RefusedOptionsLeaveNothingBehind) {
  for (int i = 0; i < 100; ++i) {
    EndpointOptions options = PartsOf(target_);
    options.inject_bytes = std::size_t{1} << 40;
    EXPECT_FALSE(target_.domain->OpenEndpoint(options).ok());
  }
  EXPECT_THAT(target_.domain->OpenEndpoint(PartsOf(target_)).status(), IsOk());
}

TEST_F(PowerContract, EndpointsTellTheLimitsOfTheirDomain) {
  const fabric::Limits& own = initiator_.endpoint->limits();
  EXPECT_EQ(own.send_queue_depth, limits().send_queue_depth);
  EXPECT_EQ(own.receive_queue_depth, limits().receive_queue_depth);
  EXPECT_EQ(own.max_message_bytes, limits().max_message_bytes);
  EXPECT_EQ(own.max_rma_bytes, limits().max_rma_bytes);
  EXPECT_EQ(own.inject_bytes, limits().inject_bytes);
  EXPECT_EQ(own.send_segments, limits().send_segments);
  EXPECT_EQ(own.receive_segments, limits().receive_segments);
}

}  // namespace
}  // namespace drydock::contract
