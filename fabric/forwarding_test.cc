#include "drydock/fabric/forwarding.h"

#include <memory>
#include <utility>

#include "drydock/testing/matchers/status_matchers.h"
#include "drydock/testing/mocks/mock_fabric.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::fabric {
namespace {

using ::drydock::testing_matchers::IsOk;
using ::drydock::testing_matchers::StatusIs;
using ::testing::Return;
using ::testing::ReturnRef;
using ::testing::StrictMock;

TEST(ForwardingTest, EndpointForwardsEveryCallOnce) {
  auto mock = std::make_unique<StrictMock<MockEndpoint>>();
  EXPECT_CALL(*mock, Send).WillOnce(Return(PostResult{1, ErrorCode::kOk}));
  EXPECT_CALL(*mock, Recv).WillOnce(Return(PostResult{0, ErrorCode::kAgain}));
  EXPECT_CALL(*mock, Write).WillOnce(Return(PostResult{0, ErrorCode::kUnknownPeer}));
  EXPECT_CALL(*mock, Read).WillOnce(Return(PostResult{0, ErrorCode::kClosed}));
  EXPECT_CALL(*mock, address).WillOnce(Return(*Address::Parse("ab")));
  EXPECT_CALL(*mock, Close).WillOnce(Return(absl::AbortedError("x")));
  EXPECT_CALL(*mock, QueryPower).WillOnce(Return(nullptr));
  ForwardingEndpoint endpoint(std::move(mock));
  EXPECT_EQ(endpoint.Send(SendRequest{}), ErrorCode::kOk);
  EXPECT_EQ(endpoint.Recv(RecvRequest{}), ErrorCode::kAgain);
  EXPECT_EQ(endpoint.Write(WriteRequest{}), ErrorCode::kUnknownPeer);
  EXPECT_EQ(endpoint.Read(ReadRequest{}), ErrorCode::kClosed);
  EXPECT_EQ(endpoint.address().ToHex(), "ab");
  EXPECT_THAT(endpoint.Close(), StatusIs(absl::StatusCode::kAborted));
  EXPECT_EQ(endpoint.power<BlockingWait>(), nullptr);
}

// A decorator of two functions: it counts posts, and everything else goes through.
class CountingEndpoint : public ForwardingEndpoint {
 public:
  using ForwardingEndpoint::ForwardingEndpoint;
  using ForwardingEndpoint::Write;
  PostResult Write(std::span<const WriteRequest> requests) override {
    writes += requests.size();
    return ForwardingEndpoint::Write(requests);
  }
  std::size_t writes = 0;
};

TEST(ForwardingTest, DecoratorOverridesOnlyWhatItNeeds) {
  auto mock = std::make_unique<StrictMock<MockEndpoint>>();
  EXPECT_CALL(*mock, Write).Times(2).WillRepeatedly(Return(PostResult{1, ErrorCode::kOk}));
  EXPECT_CALL(*mock, Send).WillOnce(Return(PostResult{1, ErrorCode::kOk}));
  CountingEndpoint endpoint(std::move(mock));
  EXPECT_EQ(endpoint.Write(WriteRequest{}), ErrorCode::kOk);
  EXPECT_EQ(endpoint.Write(WriteRequest{}), ErrorCode::kOk);
  EXPECT_EQ(endpoint.Send(SendRequest{}), ErrorCode::kOk);
  EXPECT_EQ(endpoint.writes, 2u);
}

TEST(ForwardingTest, UnwrapReachesTheBackendThroughLayers) {
  auto mock = std::make_unique<MockCompletionQueue>();
  CompletionQueue* backend = mock.get();
  ForwardingCompletionQueue outer(std::make_unique<ForwardingCompletionQueue>(std::move(mock)));
  EXPECT_EQ(&outer.Unwrap(), backend);

  auto mock_vector = std::make_unique<MockAddressVector>();
  AddressVector* backend_vector = mock_vector.get();
  ForwardingAddressVector vector(std::move(mock_vector));
  EXPECT_EQ(&vector.Unwrap(), backend_vector);
}

TEST(ForwardingTest, QueueAndVectorForward) {
  auto queue = std::make_unique<StrictMock<MockCompletionQueue>>();
  EXPECT_CALL(*queue, Read).WillOnce(Return(ReadResult{2, ErrorCode::kOverrun}));
  EXPECT_CALL(*queue, ErrorText).WillOnce(Return("words"));
  EXPECT_CALL(*queue, depth).WillOnce(Return(64));
  EXPECT_CALL(*queue, Close).WillOnce(Return(absl::OkStatus()));
  ForwardingCompletionQueue forwarding(std::move(queue));
  EXPECT_EQ(forwarding.Read({}).error, ErrorCode::kOverrun);
  EXPECT_EQ(forwarding.ErrorText(Completion{}), "words");
  EXPECT_EQ(forwarding.depth(), 64u);
  EXPECT_THAT(forwarding.Close(), IsOk());

  auto vector = std::make_unique<StrictMock<MockAddressVector>>();
  EXPECT_CALL(*vector, Insert).WillOnce(Return(Peer{5}));
  EXPECT_CALL(*vector, Remove(Peer{5})).WillOnce(Return(absl::OkStatus()));
  EXPECT_CALL(*vector, Lookup(Peer{6})).WillOnce(Return(absl::NotFoundError("6")));
  EXPECT_CALL(*vector, Close).WillOnce(Return(absl::OkStatus()));
  ForwardingAddressVector peers(std::move(vector));
  EXPECT_EQ(*peers.Insert(Address()), Peer{5});
  EXPECT_THAT(peers.Remove(Peer{5}), IsOk());
  EXPECT_THAT(peers.Lookup(Peer{6}), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(peers.Close(), IsOk());
}

TEST(ForwardingTest, DomainAndFabricForward) {
  const NicInfo nic{.name = "rdmap0s0"};
  auto domain = std::make_unique<StrictMock<MockDomain>>();
  EXPECT_CALL(*domain, nic).WillOnce(ReturnRef(nic));
  EXPECT_CALL(*domain, RegisterMemory).WillOnce([](const MemoryRequest&) {
    return absl::AbortedError("m");
  });
  EXPECT_CALL(*domain, OpenCompletionQueue).WillOnce([](const CompletionQueueOptions&) {
    return absl::AbortedError("q");
  });
  EXPECT_CALL(*domain, OpenAddressVector).WillOnce([] { return absl::AbortedError("v"); });
  EXPECT_CALL(*domain, OpenEndpoint).WillOnce([](const EndpointOptions&) {
    return absl::AbortedError("e");
  });
  EXPECT_CALL(*domain, Close).WillOnce(Return(absl::OkStatus()));
  ForwardingDomain forwarding(std::move(domain));
  EXPECT_EQ(forwarding.nic().name, "rdmap0s0");
  EXPECT_THAT(forwarding.RegisterMemory({}), StatusIs(absl::StatusCode::kAborted, "m"));
  EXPECT_THAT(forwarding.OpenCompletionQueue({}), StatusIs(absl::StatusCode::kAborted, "q"));
  EXPECT_THAT(forwarding.OpenAddressVector(), StatusIs(absl::StatusCode::kAborted, "v"));
  EXPECT_THAT(forwarding.OpenEndpoint({}), StatusIs(absl::StatusCode::kAborted, "e"));
  EXPECT_THAT(forwarding.Close(), IsOk());

  auto fabric = std::make_unique<StrictMock<MockFabric>>();
  EXPECT_CALL(*fabric, description).WillOnce(Return("mock"));
  EXPECT_CALL(*fabric, nics).WillOnce(Return(std::span<const NicInfo>(&nic, 1)));
  EXPECT_CALL(*fabric, OpenDomain(3)).WillOnce([](std::size_t) { return absl::AbortedError("d"); });
  ForwardingFabric root(std::move(fabric));
  EXPECT_EQ(root.description(), "mock");
  EXPECT_EQ(root.nics().size(), 1u);
  EXPECT_THAT(root.OpenDomain(3), StatusIs(absl::StatusCode::kAborted, "d"));
}

}  // namespace
}  // namespace drydock::fabric
