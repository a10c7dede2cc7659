// A peer that is killed, and one that comes back, as a program on libfabric's own provider `efa`
// meets them: requests end with the provider's error, and the next peer is reached.

#include <chrono>
#include <cstdint>
#include <optional>

#include "drydock/coro/steady_clock.h"
#include "drydock/fabric/error.h"
#include "drydock/sim/hosts/testing/child_process.h"
#include "drydock/testing/two_processes/provider_node.h"
#include "gtest/gtest.h"

namespace drydock::efa_run {
namespace {

using namespace std::chrono_literals;
using fabric::Completion;
using fabric::Context;
using fabric::ErrorCode;
using sim_testing::ChildProcess;
using sim_testing::Talk;
using two_processes::ProviderNode;

constexpr std::size_t kMessageBytes = 4096;

// The next completion; none within a minute.
std::optional<Completion> Next(ProviderNode& node) {
  coro::SteadyClock clock;
  const coro::Time deadline = coro::After(clock.Now(), 60s);
  Completion completion;
  while (clock.Now() < deadline) {
    if (node.nic.queue->Read({&completion, 1}).count == 1) return completion;
  }
  return std::nullopt;
}

// Posts until it is taken: a provider that waits for an answer of its peer says `again`.
void Send(ProviderNode& node, fabric::Peer peer, std::uint64_t context) {
  const fabric::SendRequest request{
      .buffer = node.region->Local(0, kMessageBytes), .peer = peer, .context = Context{context}};
  ErrorCode error = ErrorCode::kAgain;
  while (error == ErrorCode::kAgain) {
    error = node.nic.endpoint->Send(request);
    if (error == ErrorCode::kAgain) node.nic.queue->Read({});
  }
  ASSERT_EQ(error, ErrorCode::kOk);
}

// A process that receives one message, says so, and then lives on without doing anything.
void ReceiveOne(Talk& talk) {
  ProviderNode node(1 << 20);
  ASSERT_EQ(node.nic.endpoint->Recv(fabric::RecvRequest{
                .buffer = node.region->Local(0, kMessageBytes), .context = Context{1}}),
            ErrorCode::kOk);
  node.TellAddress(talk);
  node.HearPeer(talk);
  const std::optional<Completion> received = Next(node);
  // Its answer to the handshake has to get away, too.
  talk.Say(received.has_value() && received->ok());
  while (!talk.HasNews()) {
    Completion completion;
    node.nic.queue->Read({&completion, 1});
  }
  talk.Hear<bool>();
}

fabric::Peer Meet(ProviderNode& node, Talk& talk) {
  const fabric::Peer peer = node.HearPeer(talk);
  node.TellAddress(talk);
  return peer;
}

// A message arrives, and its sender hears of it.
void ExpectDelivery(ProviderNode& node, fabric::Peer peer, Talk& talk, std::uint64_t context) {
  Send(node, peer, context);
  const std::optional<Completion> sent = Next(node);
  ASSERT_TRUE(sent.has_value());
  EXPECT_TRUE(sent->ok()) << node.nic.queue->ErrorText(*sent);
  EXPECT_EQ(sent->context, Context{context});
  EXPECT_TRUE(talk.Hear<bool>());
}

TEST(PeerDeathTest, SilentPeerIsToldAndItsSuccessorReached) {
  // Before this process opens anything: what is open is not a forked child's.
  ChildProcess first(ReceiveOne);
  ChildProcess second([](Talk& talk) {
    talk.Hear<bool>();
    ReceiveOne(talk);
  });
  ProviderNode node(1 << 20);
  const fabric::Peer dead = Meet(node, first.talk());
  ExpectDelivery(node, dead, first.talk(), 1);
  first.Kill();

  for (std::uint64_t context = 2; context < 5; ++context) {
    Send(node, dead, context);
    const std::optional<Completion> failed = Next(node);
    ASSERT_TRUE(failed.has_value()) << "request " << context << " never ended";
    EXPECT_EQ(failed->error, ErrorCode::kPeerUnresponsive) << node.nic.queue->ErrorText(*failed);
    EXPECT_EQ(failed->provider_error, 13);
    EXPECT_EQ(failed->context, Context{context});
  }

  // In the dead one's place, with its GID.
  second.talk().Say(true);
  const fabric::Peer successor = Meet(node, second.talk());
  ExpectDelivery(node, successor, second.talk(), 5);
  second.talk().Say(true);
  EXPECT_EQ(second.Wait(), 0);
}

}  // namespace
}  // namespace drydock::efa_run
