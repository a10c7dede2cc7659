// How often a send without a receive is retried, where a program may choose.

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
using testing_matchers::StatusIs;

const Needs kNeeds("RetryContract", {Capability::kReceiverNotReadyRetry});

class RetryContract : public ContractTest {
 protected:
  // From here on, the initiator's endpoint retries this often.
  void Retrying(std::uint32_t retries) {
    fabric::EndpointOptions options = PartsOf(initiator_);
    options.receiver_not_ready_retries = retries;
    initiator_.endpoint.reset();
    ASSERT_OK_AND_ASSIGN(initiator_.endpoint, initiator_.domain->OpenEndpoint(options));
    ASSERT_TRUE(target_.peers->Insert(initiator_.endpoint->address()).ok());
  }
};

// Where software takes a message before the program has a receive for it, and retries sends that
// the NIC gave up, the end of the retries is not reported. There the sender does not hear of
// truncation either.
const Needs kFinite("RetryContract.FiniteRetriesEnd", {Trait::kSourceTruncation});
TEST_F(RetryContract, FiniteRetriesEnd) {
  for (const std::uint32_t retries : {0u, 1u, 3u, 6u}) {
    Retrying(retries);
    ASSERT_EQ(Send(0, 100, 1), ErrorCode::kOk);
    EXPECT_EQ(Take(initiator_, 1).error, ErrorCode::kReceiverNotReady) << retries;
  }
  PumpQuietly();
  EXPECT_TRUE(target_.completions.empty());
  EXPECT_TRUE(Untouched(target_.memory));
}

const Needs kFailed("RetryContract.FailedMessageDoesNotComeLater", {Trait::kSourceTruncation});
TEST_F(RetryContract, FailedMessageDoesNotComeLater) {
  Retrying(0);
  Fill(Bytes(initiator_, 0, 100), 5);
  ASSERT_EQ(Send(0, 100, 1), ErrorCode::kOk);
  EXPECT_EQ(Take(initiator_, 1).error, ErrorCode::kReceiverNotReady);
  ASSERT_EQ(Recv(0, 100, 2), ErrorCode::kOk);
  PumpQuietly();
  EXPECT_TRUE(target_.completions.empty());
  EXPECT_TRUE(Untouched(target_.memory));
  ASSERT_EQ(Send(0, 50, 3), ErrorCode::kOk);  // the endpoint is unharmed
  EXPECT_EQ(Take(target_, 2).length_bytes, 50u);
}

TEST_F(RetryContract, ReceiveInTimeNeedsNoRetry) {
  Retrying(0);
  for (std::uint64_t i = 0; i < 20; ++i) {
    ASSERT_EQ(Recv(0, 100, i), ErrorCode::kOk);
    ASSERT_EQ(Send(0, 100, i), ErrorCode::kOk);
    EXPECT_TRUE(Take(initiator_, i).ok());
    EXPECT_TRUE(Take(target_, i).ok());
  }
}

const Needs kForEver("RetryContract.SevenMeansForEver", {Trait::kSourceTruncation});
TEST_F(RetryContract, SevenMeansForEver) {
  Retrying(7);
  ASSERT_EQ(Send(0, 100, 1), ErrorCode::kOk);
  PumpQuietly();
  EXPECT_TRUE(initiator_.completions.empty());
  ASSERT_EQ(Recv(0, 100, 2), ErrorCode::kOk);
  EXPECT_TRUE(Take(initiator_, 1).ok());
  EXPECT_TRUE(Take(target_, 2).ok());
}

TEST_F(RetryContract, MoreThanSevenIsRefused) {
  fabric::EndpointOptions options = PartsOf(initiator_);
  options.receiver_not_ready_retries = 8;
  EXPECT_THAT(initiator_.domain->OpenEndpoint(options).status(),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

// Writes need no receive, and so no retry.
TEST_F(RetryContract, WritesDoNotRetry) {
  Retrying(0);
  ASSERT_EQ(Write(0, 100, target_.Remote(0), 1, 5), ErrorCode::kOk);
  EXPECT_TRUE(Take(initiator_, 1).ok());
  EXPECT_EQ(TakeRemoteWrite(target_).immediate, 5u);
}

}  // namespace
}  // namespace drydock::contract
