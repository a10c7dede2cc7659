#include "drydock/fabric/async/credit_window.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "drydock/coro/scope.h"
#include "drydock/coro/sleep.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/async/credited_messages.h"
#include "drydock/fabric/async/node.h"
#include "drydock/sim/cluster/two_nodes.h"
#include "drydock/testing/harness/under_faults.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::fabric::async {
namespace {

using namespace std::chrono_literals;
using ::drydock::testing_matchers::IsOk;
using ::drydock::testing_matchers::StatusIs;
using harness::GiveUpTime;
using harness::OpenNodes;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint32_t kImmediate = 0x77;

class CreditWindowTest : public ::testing::Test {
 protected:
  sim::TwoNodes nodes_;
};

TEST_F(CreditWindowTest, TotalsComeInAnyOrderAndTwice) {
  auto main = [&]() -> coro::Task<absl::Status> {
    CreditWindow window(2);
    CO_RETURN_IF_ERROR(co_await window.Take());
    CO_RETURN_IF_ERROR(co_await window.Take());
    const absl::Status third = co_await window.Take(nodes_.loop.Now() + 1us);
    EXPECT_THAT(third, StatusIs(absl::StatusCode::kDeadlineExceeded));
    for (const std::uint64_t total : {2u, 1u, 2u, 0u}) EXPECT_THAT(window.Returned(total), IsOk());
    EXPECT_EQ(window.available(), 2u);
    EXPECT_EQ(window.taken(), 2u);
    co_return absl::OkStatus();
  };
  EXPECT_THAT(nodes_.loop.Run(main()), IsOk());
}

TEST_F(CreditWindowTest, PeerThatReturnsTooMuchIsRefused) {
  auto main = [&]() -> coro::Task<absl::Status> {
    CreditWindow window(2);
    CO_RETURN_IF_ERROR(co_await window.Take());
    EXPECT_THAT(window.Returned(2), StatusIs(absl::StatusCode::kInvalidArgument));
    EXPECT_EQ(window.available(), 1u);
    EXPECT_THAT(window.Returned(1), IsOk());
    window.Undo();  // of a message that the peer says it has taken
    EXPECT_THAT(co_await window.Take(), StatusIs(absl::StatusCode::kInvalidArgument));
    co_return absl::OkStatus();
  };
  EXPECT_THAT(nodes_.loop.Run(main()), IsOk());
}

TEST_F(CreditWindowTest, FailureEndsEveryWait) {
  auto main = [&]() -> coro::Task<absl::Status> {
    CreditWindow window(1);
    CO_RETURN_IF_ERROR(co_await window.Take());
    int failed = 0;
    auto take = [&]() -> coro::Task<absl::Status> {
      const absl::Status status = co_await window.Take();
      failed += absl::IsUnavailable(status) ? 1 : 0;
      co_return absl::OkStatus();
    };
    coro::Scope waiting;
    for (int i = 0; i < 3; ++i) waiting.Spawn(take());
    window.Fail(absl::UnavailableError("gone"));
    CO_RETURN_IF_ERROR(co_await waiting.Join());
    EXPECT_EQ(failed, 3);
    co_return absl::OkStatus();
  };
  EXPECT_THAT(nodes_.loop.Run(main()), IsOk());
}

// ---- With messages ----

// Messages of one byte, their number, all at once.
coro::Task<absl::Status> SendAll(AsyncEndpoint& endpoint, CreditedSender& sender,
                                 const BufferRef& bytes) {
  coro::Scope sends;
  auto send = [&](std::size_t i) -> coro::Task<absl::Status> {
    OperationOptions options;
    options.deadline = GiveUpTime();
    const Completion sent = co_await sender.Send(BufferSlice(bytes, i, 1), options);
    co_return endpoint.ToStatus(sent, "send");
  };
  for (std::size_t i = 0; i < bytes->bytes().size(); ++i) {
    bytes->bytes()[i] = static_cast<std::byte>(i);
    sends.Spawn(send(i));
  }
  co_return co_await sends.Join();
}

class CreditedMessagesTest : public ::testing::Test {
 protected:
  // An endpoint of `a` whose sends fail at once where they find no receive.
  CreditedMessagesTest() {
    EndpointOptions options;
    options.send_queue = options.receive_queue = &nodes_.a.dispatcher().queue();
    options.address_vector = &nodes_.a.peers();
    options.receiver_not_ready_retries = 0;
    a_ = std::make_unique<AsyncEndpoint>(nodes_.a.dispatcher(),
                                         *nodes_.a.domain().OpenEndpoint(options));
    to_a_ = *nodes_.b.peers().Insert(a_->address());
  }

  CreditTarget Target() const { return {to_a_, flag_->region().remote()}; }

  sim::TwoNodes nodes_;
  std::unique_ptr<AsyncEndpoint> a_;
  Peer to_a_{};
  const BufferRef bytes_ = nodes_.a.Allocate(100).value(), flag_ = nodes_.a.Allocate(8).value();
};

TEST_F(CreditedMessagesTest, NoMessageEverFindsNoReceive) {
  const CreditTerms terms = {.credits = 4, .batch = 2, .immediate = kImmediate};
  const BufferRef memory = nodes_.b.Allocate(CreditedReceiver::MemoryBytes(terms, 16)).value();
  auto main = [&]() -> coro::Task<absl::Status> {
    CreditedSender sender(*a_, nodes_.a.peer(1), terms);
    CreditedReceiver receiver(nodes_.b.endpoint(), memory, 16, terms, Target());
    coro::Scope sending;
    sending.Spawn(SendAll(*a_, sender, bytes_));
    std::array<int, 100> came{};
    for (std::size_t i = 0; i < came.size(); ++i) {
      co_await coro::Sleep(20us);  // slow
      EXPECT_LE(sender.window().taken(), i + 2 * terms.credits);
      CO_ASSIGN_OR_RETURN(const Message message, co_await receiver.Next());
      ++came[std::to_integer<std::size_t>(message.bytes[0])];
    }
    EXPECT_THAT(came, ::testing::Each(1));
    co_return co_await sending.Join();
  };
  EXPECT_THAT(nodes_.loop.Run(main()), IsOk());
}

// What the test above would see.
TEST_F(CreditedMessagesTest, WithTooManyCreditsSomeDo) {
  const CreditTerms terms = {.credits = 4, .immediate = kImmediate};
  CreditTerms greedy = terms;
  greedy.credits = 20;
  const BufferRef memory = nodes_.b.Allocate(CreditedReceiver::MemoryBytes(terms, 16)).value();
  auto main = [&]() -> coro::Task<absl::Status> {
    CreditedSender sender(*a_, nodes_.a.peer(1), greedy);
    CreditedReceiver receiver(nodes_.b.endpoint(), memory, 16, terms, Target());
    const absl::Status sent = co_await SendAll(*a_, sender, bytes_);
    EXPECT_THAT(sent, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no receive")));
    EXPECT_THAT(sender.status(), IsOk());
    EXPECT_GE(sender.window().available(), 8u) << "of messages that were never delivered";
    co_return absl::OkStatus();
  };
  EXPECT_THAT(nodes_.loop.Run(main()), IsOk());
}

TEST_F(CreditedMessagesTest, PeerThatInventsCreditsEndsTheSender) {
  const CreditTerms terms = {.credits = 4, .immediate = kImmediate};
  const BufferRef junk = nodes_.b.Allocate(8).value();
  auto main = [&]() -> coro::Task<absl::Status> {
    CreditedSender sender(*a_, nodes_.a.peer(1), terms);
    OperationOptions options;
    options.immediate = kImmediate;
    const Completion invented =
        co_await nodes_.b.endpoint().Write(junk, flag_->region().remote(), to_a_, options);
    EXPECT_TRUE(invented.ok());
    co_await coro::Sleep(1ms);
    EXPECT_THAT(sender.status(), StatusIs(absl::StatusCode::kInvalidArgument));
    const Completion sent = co_await sender.Send(BufferSlice(bytes_, 0, 1));
    EXPECT_EQ(sent.error, ErrorCode::kPeerAborted);
    co_return absl::OkStatus();
  };
  EXPECT_THAT(nodes_.loop.Run(main()), IsOk());
}

// However it was given up: its receiver will never give its credit back.
TEST_F(CreditedMessagesTest, MessageThatFailsAfterItWasGivenUpKeepsNoCredit) {
  auto main = [&]() -> coro::Task<absl::Status> {
    CreditedSender sender(*a_, nodes_.a.peer(1), {.credits = 1, .immediate = kImmediate});
    auto send = [&]() -> coro::Task<absl::Status> {  // finds no receive
      co_await sender.Send(BufferSlice(bytes_, 0, 1));
      co_return absl::OkStatus();
    };

    OperationOptions options;
    options.deadline = coro::After(nodes_.loop.Now(), 1us);
    const Completion late = co_await sender.Send(BufferSlice(bytes_, 0, 1), options);
    EXPECT_EQ(late.error, ErrorCode::kDeadlineExceeded);
    EXPECT_EQ(sender.window().available(), 0u) << "it is under way";
    co_await coro::Sleep(1ms);
    EXPECT_EQ(sender.window().available(), 1u);

    {
      coro::Scope destroyed;
      destroyed.Spawn(send());
    }
    EXPECT_EQ(sender.window().available(), 0u) << "it is under way";
    co_await coro::Sleep(1ms);
    EXPECT_EQ(sender.window().available(), 1u);

    coro::Scope cancelled;
    cancelled.Spawn(send());
    cancelled.Cancel();
    CO_RETURN_IF_ERROR(co_await cancelled.Join());
    EXPECT_EQ(sender.window().available(), 1u);
    EXPECT_THAT(sender.status(), IsOk());
    co_return absl::OkStatus();
  };
  EXPECT_THAT(nodes_.loop.Run(main()), IsOk());
}

TEST_F(CreditedMessagesTest, MessageThatMayHaveArrivedAfterItWasGivenUpEndsTheSender) {
  auto receiver = nodes_.b.OpenEndpoint().value();
  const Peer gone = nodes_.a.peers().Insert(receiver->address()).value();
  receiver.reset();
  auto main = [&]() -> coro::Task<absl::Status> {
    CreditedSender sender(*a_, gone, {.credits = 1, .immediate = kImmediate});
    OperationOptions options;
    options.deadline = coro::After(nodes_.loop.Now(), 1us);
    const Completion late = co_await sender.Send(BufferSlice(bytes_, 0, 1), options);
    EXPECT_EQ(late.error, ErrorCode::kDeadlineExceeded);
    EXPECT_THAT(sender.status(), IsOk());
    const Completion next = co_await sender.Send(BufferSlice(bytes_, 0, 1));
    EXPECT_EQ(next.error, ErrorCode::kPeerAborted);
    EXPECT_THAT(sender.status(), Not(IsOk()));
    co_return absl::OkStatus();
  };
  EXPECT_THAT(nodes_.loop.Run(main()), IsOk());
}

// Its completion is nobody's then.
TEST_F(CreditedMessagesTest, SenderMayDieBeforeMessagesThatItGaveUp) {
  auto main = [&]() -> coro::Task<absl::Status> {
    {
      CreditedSender sender(*a_, nodes_.a.peer(1), {.credits = 1, .immediate = kImmediate});
      OperationOptions options;
      options.deadline = coro::After(nodes_.loop.Now(), 1us);
      co_await sender.Send(BufferSlice(bytes_, 0, 1), options);
      EXPECT_EQ(nodes_.a.dispatcher().slots().abandoned(), 1u);
    }
    co_await coro::Sleep(1ms);
    EXPECT_EQ(nodes_.a.dispatcher().slots().abandoned(), 0u);
    co_return absl::OkStatus();
  };
  EXPECT_THAT(nodes_.loop.Run(main()), IsOk());
}

// The credit is there twice: the receiver gives it back, and the message fails.
TEST_F(CreditedMessagesTest, CreditOfAMessageThatFailsEndsTheSender) {
  const BufferRef junk = nodes_.b.Allocate(8).value();
  auto main = [&]() -> coro::Task<absl::Status> {
    CreditedSender sender(*a_, nodes_.a.peer(1), {.credits = 4, .immediate = kImmediate});
    auto invent = [&]() -> coro::Task<absl::Status> {
      OperationOptions options;
      options.immediate = kImmediate;
      co_await nodes_.b.endpoint().Write(junk, flag_->region().remote(), to_a_, options);
      co_return absl::OkStatus();
    };
    coro::Scope inventing;
    inventing.Spawn(invent());
    const Completion refused = co_await sender.Send(BufferSlice(bytes_, 0, 1));
    EXPECT_EQ(refused.error, ErrorCode::kReceiverNotReady);
    EXPECT_THAT(sender.status(), StatusIs(absl::StatusCode::kInvalidArgument));
    const Completion next = co_await sender.Send(BufferSlice(bytes_, 0, 1));
    EXPECT_EQ(next.error, ErrorCode::kPeerAborted);
    co_return co_await inventing.Join();
  };
  EXPECT_THAT(nodes_.loop.Run(main()), IsOk());
}

// ---- Under faults ----

constexpr std::size_t kMessages = 40;

coro::Task<absl::Status> ReceiveAll(CreditedReceiver& receiver, CreditedSender& sender,
                                    const CreditTerms& terms) {
  std::array<bool, kMessages> came{};
  for (std::size_t i = 0; i < kMessages; ++i) {
    if (sender.window().taken() > i + terms.credits) {
      co_return harness::WrongData("more messages are under way than there are receives");
    }
    CO_ASSIGN_OR_RETURN(const Message message, co_await receiver.Next(GiveUpTime()));
    const auto number = std::to_integer<std::size_t>(message.bytes[0]);
    if (std::exchange(came[number], true)) co_return harness::WrongData("a message came twice");
  }
  co_return absl::OkStatus();
}

coro::Task<absl::Status> FlowUnderFaults(sim::explore::Trial& trial) {
  CO_ASSIGN_OR_RETURN(auto machines, OpenNodes(trial, coro::EventLoop::Current(), 2));
  Node &a = *machines[0], &b = *machines[1];
  const CreditTerms terms = {.credits = 5, .batch = 1 + trial.seed() % 3, .immediate = kImmediate};
  CO_ASSIGN_OR_RETURN(const BufferRef bytes, a.Allocate(kMessages));
  CO_ASSIGN_OR_RETURN(const BufferRef flag, a.Allocate(8));
  CO_ASSIGN_OR_RETURN(const BufferRef memory, b.Allocate(CreditedReceiver::MemoryBytes(terms, 16)));
  CreditedSender sender(a.endpoint(), a.peer(1), terms);
  CreditedReceiver receiver(b.endpoint(), memory, 16, terms, {b.peer(0), flag->region().remote()});
  coro::Scope sending, receiving;
  receiving.Spawn(ReceiveAll(receiver, sender, terms));
  sending.Spawn(SendAll(a.endpoint(), sender, bytes));
  const absl::Status received = co_await receiving.Join();
  const absl::Status sent = co_await sending.Join();
  co_return received.ok() ? sent : received;
}

DD_TEST_UNDER_FAULTS(CreditsUnderFaults, FlowUnderFaults);

}  // namespace
}  // namespace drydock::fabric::async
