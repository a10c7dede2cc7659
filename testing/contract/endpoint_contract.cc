// How endpoints share queues and address vectors, and which peers they can reach.

#include <cstdint>
#include <memory>

#include "drydock/testing/contract/contract_test.h"

namespace drydock::contract {
namespace {

using fabric::Completion;
using fabric::Context;
using fabric::Endpoint;
using fabric::ErrorCode;
using fabric::OperationKind;
using fabric::Peer;

class EndpointContract : public ContractTest {};

// Received messages and remote writes on one queue, our own posts on the other.
TEST_F(EndpointContract, SendAndReceiveQueuesAreSeparate) {
  third_.queue = target_.domain->OpenCompletionQueue({}).value();
  ASSERT_OK_AND_ASSIGN(auto endpoint,
                       target_.domain->OpenEndpoint({.send_queue = target_.queue.get(),
                                                     .receive_queue = third_.queue.get(),
                                                     .address_vector = target_.peers.get()}));
  initiator_.peer = initiator_.peers->Insert(endpoint->address()).value();
  const fabric::RecvRequest receive = RecvOf(0, 100, Context{1});
  ASSERT_EQ(Post([&] { return endpoint->Recv(receive); }), ErrorCode::kOk);
  ASSERT_EQ(Send(0, 100, 2), ErrorCode::kOk);
  EXPECT_EQ(Take(third_, 1).kind, OperationKind::kReceive);
  ASSERT_EQ(Write(0, 100, target_.Remote(0), 3, 3), ErrorCode::kOk);
  EXPECT_EQ(TakeRemoteWrite(third_).immediate, 3u);
  fabric::WriteRequest back{.source = target_.Local(0, 8),
                            .target = initiator_.Remote(0),
                            .peer = target_.peer,
                            .context = Context{4}};
  ASSERT_EQ(Post([&] { return endpoint->Write(back); }), ErrorCode::kOk);
  EXPECT_EQ(Take(target_, 4).kind, OperationKind::kWrite);
  PumpQuietly();
  EXPECT_TRUE(third_.completions.empty());
  EXPECT_TRUE(target_.completions.empty());
  endpoint.reset();  // before its queues
}

TEST_F(EndpointContract, TwoEndpointsCanShareAQueue) {
  std::unique_ptr<Endpoint> second = OpenAnother(initiator_);
  ASSERT_TRUE(target_.peers->Insert(second->address()).ok());
  for (std::uint64_t i = 0; i < 20; ++i) {
    fabric::WriteRequest request = WriteOf(0, 8, target_.Remote(i * 8), Context{i});
    request.immediate = static_cast<std::uint32_t>(i);
    Endpoint& endpoint = i % 2 == 0 ? *initiator_.endpoint : *second;
    ASSERT_EQ(Post([&] { return endpoint.Write(request); }), ErrorCode::kOk);
  }
  for (std::uint64_t i = 0; i < 20; ++i) {
    EXPECT_TRUE(Take(initiator_, i).ok());
    EXPECT_TRUE(TakeRemoteWrite(target_).ok());
  }
}

// Two endpoints of one domain are two mailboxes.
TEST_F(EndpointContract, EachEndpointHasItsOwnReceives) {
  std::unique_ptr<Endpoint> second = OpenAnother(target_);
  const fabric::RecvRequest receive = RecvOf(500, 100, Context{2});
  ASSERT_EQ(Recv(0, 100, 1), ErrorCode::kOk);
  ASSERT_EQ(Post([&] { return second->Recv(receive); }), ErrorCode::kOk);
  initiator_.peer = initiator_.peers->Insert(second->address()).value();
  Fill(Bytes(initiator_, 0, 100), 6);
  ASSERT_EQ(Send(0, 100, 3), ErrorCode::kOk);
  EXPECT_TRUE(Take(target_, 2).ok());
  EXPECT_TRUE(Holds(Bytes(target_, 500, 100), 6));
  PumpQuietly();
  EXPECT_TRUE(target_.completions.empty());
}

// Closing one endpoint of a queue leaves the others alone.
TEST_F(EndpointContract, EndpointOutlivesItsNeighbour) {
  std::unique_ptr<Endpoint> second = OpenAnother(initiator_);
  ASSERT_EQ(Write(0, 50000, target_.Remote(0), 1, 1), ErrorCode::kOk);
  second.reset();
  EXPECT_TRUE(Take(initiator_, 1).ok());
  EXPECT_EQ(TakeRemoteWrite(target_).immediate, 1u);
}

TEST_F(EndpointContract, EndpointCanTalkToItself) {
  initiator_.peer = initiator_.peers->Insert(initiator_.endpoint->address()).value();
  const fabric::RecvRequest receive{.buffer = initiator_.Local(1000, 100), .context = Context{1}};
  Fill(Bytes(initiator_, 0, 100), 6);
  ASSERT_EQ(Post([&] { return initiator_.endpoint->Recv(receive); }), ErrorCode::kOk);
  ASSERT_EQ(Send(0, 100, 2, 22), ErrorCode::kOk);
  EXPECT_EQ(Take(initiator_, 1).immediate, 22u);
  EXPECT_TRUE(Holds(Bytes(initiator_, 1000, 100), 6));
  ASSERT_EQ(Write(0, 100, initiator_.Remote(2000), 3, 33), ErrorCode::kOk);
  EXPECT_EQ(TakeRemoteWrite(initiator_).immediate, 33u);
  EXPECT_TRUE(Holds(Bytes(initiator_, 2000, 100), 6));
  ASSERT_EQ(Read(3000, 100, initiator_.Remote(2000), 4), ErrorCode::kOk);
  EXPECT_TRUE(Take(initiator_, 4).ok());
  EXPECT_TRUE(Holds(Bytes(initiator_, 3000, 100), 6));
}

TEST_F(EndpointContract, BothSidesCanTalkAtOnce) {
  for (std::uint64_t i = 0; i < 100; ++i) {
    ASSERT_EQ(Write(i * 5000, 5000, target_.Remote(500000 + i * 5000), i, 1), ErrorCode::kOk);
    const fabric::WriteRequest back{.source = target_.Local(i * 5000, 5000),
                                    .target = initiator_.Remote(500000 + i * 5000),
                                    .peer = target_.peer,
                                    .immediate = 2,
                                    .context = Context{i}};
    ASSERT_EQ(Post([&] { return target_.endpoint->Write(back); }), ErrorCode::kOk);
  }
  for (std::uint64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(TakeRemoteWrite(target_).immediate, 1u);
    EXPECT_EQ(TakeRemoteWrite(initiator_).immediate, 2u);
    EXPECT_TRUE(Take(initiator_, i).ok());
    EXPECT_TRUE(Take(target_, i).ok());
  }
}

}  // namespace
}  // namespace drydock::contract
