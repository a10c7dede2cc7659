// A sender dies in the middle of a message to libfabric's provider `tcp`: its receive fails with
// kPeerAborted, and the receives after it stay posted for the next sender.

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>

#include "drydock/coro/steady_clock.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/error.h"
#include "drydock/fabric/fabric.h"
#include "drydock/sim/hosts/testing/child_process.h"
#include "drydock/testing/two_processes/provider_node.h"
#include "gtest/gtest.h"

namespace drydock::two_processes {
namespace {

using namespace std::chrono_literals;
using fabric::Completion;
using fabric::Context;
using fabric::ErrorCode;
using sim_testing::ChildProcess;
using sim_testing::Talk;

// More than sockets hold: the message needs its sender to the end.
constexpr std::size_t kLongBytes = 128 << 20;
constexpr std::size_t kShortBytes = 64;

// Sends one message of so many bytes, and makes progress until it is told to end.
void SendOne(Talk& talk, std::size_t bytes) {
  ProviderNode node(bytes, "tcp");
  const fabric::Peer peer = node.HearPeer(talk);
  node.memory[0] = std::byte{42};
  const fabric::SendRequest request{
      .buffer = node.region->Local(0, bytes), .peer = peer, .context = Context{1}};
  Completion completion;
  while (node.nic.endpoint->Send(request) == ErrorCode::kAgain) {
    node.nic.queue->Read({&completion, 1});
  }
  while (!talk.HasNews()) node.nic.queue->Read({&completion, 1});
}

// Reads until `done`, and returns the completion that came, if one did. Fails after a minute.
template <typename Done>
std::optional<Completion> ReadUntil(ProviderNode& node, const Done& done) {
  coro::SteadyClock clock;
  const coro::Time deadline = coro::After(clock.Now(), 60s);
  std::optional<Completion> found;
  Completion completion;
  while (!done() && !found.has_value()) {
    if (node.nic.queue->Read({&completion, 1}).count == 1) found = completion;
    if (clock.Now() > deadline) {
      ADD_FAILURE() << "nothing came";
      break;
    }
  }
  return found;
}

TEST(BrokenMessageTest, ASenderThatDiesEndsItsMessageAndNoOther) {
  // Forked before this process opens anything, because a child cannot use what its parent opened.
  ChildProcess dies([](Talk& talk) { SendOne(talk, kLongBytes); });
  ChildProcess lives([](Talk& talk) { SendOne(talk, kShortBytes); });
  ProviderNode node(2 * kLongBytes, "tcp");
  for (const std::size_t i : {0, 1}) {
    ASSERT_EQ(node.nic.endpoint->Recv({.buffer = node.region->Local(i * kLongBytes, kLongBytes),
                                       .context = Context(i)}),
              ErrorCode::kOk);
  }
  node.TellAddress(dies.talk());
  ReadUntil(node, [&] { return node.memory[0] == std::byte{42}; });
  dies.Kill();
  const std::optional<Completion> broken = ReadUntil(node, [] { return false; });
  ASSERT_TRUE(broken.has_value());
  EXPECT_EQ(broken->error, ErrorCode::kPeerAborted) << node.nic.queue->ErrorText(*broken);
  EXPECT_EQ(broken->kind, fabric::OperationKind::kReceive);
  EXPECT_EQ(broken->context, Context{0});

  node.TellAddress(lives.talk());
  const std::optional<Completion> received = ReadUntil(node, [] { return false; });
  ASSERT_TRUE(received.has_value());
  EXPECT_TRUE(received->ok()) << node.nic.queue->ErrorText(*received);
  EXPECT_EQ(received->context, Context{1});
  EXPECT_EQ(received->length_bytes, kShortBytes);
  lives.talk().Say(true);
  EXPECT_EQ(lives.Wait(), 0);
}

}  // namespace
}  // namespace drydock::two_processes
