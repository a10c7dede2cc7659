#include "drydock/fabric/async/message_receiver.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "drydock/coro/sleep.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/async/immediate_counter.h"
#include "drydock/sim/cluster/two_nodes.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::fabric::async {
namespace {

using namespace std::chrono_literals;
using ::drydock::testing_matchers::IsOk;
using ::drydock::testing_matchers::StatusIs;

class MessageReceiverTest : public ::testing::Test {
 protected:
  // Sends messages 1 to `count`, `i` bytes of value `i` each, all at once.
  coro::Task<absl::Status> SendAll(std::size_t count) {
    coro::Scope scope;
    for (std::size_t i = 1; i <= count; ++i) scope.Spawn(SendOne(i));
    co_return co_await scope.Join();
  }

  coro::Task<absl::Status> SendOne(std::size_t value) {
    const BufferRef buffer = nodes_.a.Allocate(value).value();
    std::fill(buffer->bytes().begin(), buffer->bytes().end(), static_cast<std::byte>(value));
    const Completion sent = co_await nodes_.a.endpoint().Send(buffer, nodes_.a.peer(1));
    co_return nodes_.a.endpoint().ToStatus(sent, "send");
  }

  sim::TwoNodes nodes_;
};

// More messages than receives, and a program that is slow to take them: none is lost, none comes
// twice.
TEST_F(MessageReceiverTest, EveryMessageComesOnce) {
  auto main = [this]() -> coro::Task<absl::Status> {
    const BufferRef room = nodes_.b.Allocate(2 * 128).value();
    MessageReceiver receiver(nodes_.b.endpoint(), room, 2, 128, /*backlog=*/3);
    coro::Scope senders;
    senders.Spawn(SendAll(100));
    std::set<std::size_t> seen;
    for (int i = 0; i < 100; ++i) {
      co_await coro::Sleep(20us);
      absl::StatusOr<Message> message = co_await receiver.Next();
      if (!message.ok()) co_return message.status();
      const std::size_t value = message->bytes.size();
      EXPECT_TRUE(std::all_of(message->bytes.begin(), message->bytes.end(), [&](std::byte byte) {
        return byte == static_cast<std::byte>(value);
      }));
      EXPECT_TRUE(seen.insert(value).second) << value;
    }
    co_return co_await senders.Join();
  };
  EXPECT_THAT(nodes_.loop.Run(main()), IsOk());
}

TEST_F(MessageReceiverTest, GivingUpWaitingGivesUpNoReceive) {
  auto main = [this]() -> coro::Task<absl::Status> {
    const BufferRef room = nodes_.b.Allocate(128).value();
    MessageReceiver receiver(nodes_.b.endpoint(), room, 1, 128, 1);
    for (int i = 0; i < 5; ++i) {
      const absl::StatusOr<Message> nothing = co_await receiver.Next(nodes_.loop.Now() + 1ms);
      EXPECT_THAT(nothing, StatusIs(absl::StatusCode::kDeadlineExceeded));
    }
    EXPECT_EQ(nodes_.b.dispatcher().slots().in_flight(), 1u);
    coro::Scope sender;
    sender.Spawn(SendOne(9));
    const absl::StatusOr<Message> message = co_await receiver.Next(nodes_.loop.Now() + 10ms);
    EXPECT_THAT(message, IsOk());
    co_return co_await sender.Join();
  };
  EXPECT_THAT(nodes_.loop.Run(main()), IsOk());
}

// More receives than messages that may wait: when the last of those was taken, all are posted.
TEST_F(MessageReceiverTest, AllReceivesArePostedWhenThereIsRoomAgain) {
  auto main = [this]() -> coro::Task<absl::Status> {
    const BufferRef room = nodes_.b.Allocate(4 * 128).value();
    MessageReceiver receiver(nodes_.b.endpoint(), room, 4, 128, /*backlog=*/0);
    CO_RETURN_IF_ERROR(co_await SendAll(4));
    co_await coro::Sleep(1ms);
    for (int i = 0; i < 4; ++i) {
      CO_RETURN_IF_ERROR((co_await receiver.Next()).status());
      co_await coro::Sleep(1ms);
    }
    EXPECT_EQ(nodes_.b.dispatcher().slots().in_flight(), 4u);
    co_return absl::OkStatus();
  };
  EXPECT_THAT(nodes_.loop.Run(main()), IsOk());
}

std::unique_ptr<AsyncEndpoint> OpenTakingImmediates(Node& node) {
  EndpointOptions options;
  options.send_queue = options.receive_queue = &node.dispatcher().queue();
  options.address_vector = &node.peers();
  options.receives_take_immediates = true;
  return std::make_unique<AsyncEndpoint>(node.dispatcher(),
                                         node.domain().OpenEndpoint(options).value());
}

// A peer's writes are longer than the receives that their immediates take.
TEST_F(MessageReceiverTest, ImmediateThatTakesAReceiveIsCountedAndNoMessage) {
  auto main = [this]() -> coro::Task<absl::Status> {
    const std::unique_ptr<AsyncEndpoint> from = OpenTakingImmediates(nodes_.a);
    const std::unique_ptr<AsyncEndpoint> to = OpenTakingImmediates(nodes_.b);
    CO_ASSIGN_OR_RETURN(const Peer peer, nodes_.a.peers().Insert(to->address()));
    CO_RETURN_IF_ERROR(nodes_.b.peers().Insert(from->address()).status());
    CO_ASSIGN_OR_RETURN(const BufferRef source, nodes_.a.Allocate(1 << 20));
    CO_ASSIGN_OR_RETURN(const BufferRef target, nodes_.b.Allocate(1 << 20));
    CO_ASSIGN_OR_RETURN(const BufferRef room, nodes_.b.Allocate(2 * 128));
    ImmediateCounter arrived(nodes_.b.dispatcher(), 7);
    MessageReceiver receiver(*to, room, 2, 128, /*backlog=*/0);
    for (int i = 0; i < 5; ++i) {
      const Completion written =
          co_await from->Write(source, target->region().remote(), peer, {.immediate = 7});
      CO_RETURN_IF_ERROR(from->ToStatus(written, "write"));
    }
    const bool all = co_await arrived.Reached(5, nodes_.loop.Now() + 10ms);
    EXPECT_TRUE(all);
    const Completion sent = co_await from->Send(BufferSlice(source, 0, 100), peer);
    CO_RETURN_IF_ERROR(from->ToStatus(sent, "send"));
    CO_ASSIGN_OR_RETURN(const Message message, co_await receiver.Next(nodes_.loop.Now() + 10ms));
    EXPECT_EQ(message.bytes.size(), 100u);
    EXPECT_EQ(message.immediate, std::nullopt);
    co_return absl::OkStatus();
  };
  EXPECT_THAT(nodes_.loop.Run(main()), IsOk());
}

TEST_F(MessageReceiverTest, ClosedEndpointEndsTheReceiver) {
  auto main = [this]() -> coro::Task<absl::Status> {
    const BufferRef room = nodes_.b.Allocate(128).value();
    MessageReceiver receiver(nodes_.b.endpoint(), room, 1, 128, 1);
    coro::Scope closer;
    auto close = [this]() -> coro::Task<absl::Status> {
      co_await coro::Sleep(1ms);
      co_return nodes_.b.endpoint().Close();
    };
    closer.Spawn(close());
    const absl::StatusOr<Message> message = co_await receiver.Next();
    EXPECT_THAT(message, StatusIs(absl::StatusCode::kCancelled));
    co_return co_await closer.Join();
  };
  EXPECT_THAT(nodes_.loop.Run(main()), IsOk());
}

}  // namespace
}  // namespace drydock::fabric::async
