// Completion channels: how a program that sleeps is told of completions.

#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <future>
#include <optional>
#include <thread>
#include <utility>

#include "drydock/sim/verbs/testing/end.h"
#include "drydock/sim/verbs/testing/repeated_alarm.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

bool Readable(const ibv_comp_channel* channel, int timeout_ms) {
  pollfd asked{.fd = channel->fd, .events = POLLIN, .revents = 0};
  return poll(&asked, 1, timeout_ms) == 1;
}

class ChannelTest : public ::testing::Test {
 protected:
  static constexpr int kGuard = 100000;  // ms
  // How long an event that nobody acknowledges holds its queue, at least.
  static constexpr std::chrono::milliseconds kHeld{1900};

  ChannelTest() : context_(OpenDevice(1)), channel_(ibv_create_comp_channel(context_)) {}
  ~ChannelTest() override {
    EXPECT_EQ(ibv_destroy_comp_channel(channel_), 0);
    EXPECT_EQ(ibv_close_device(context_), 0);
  }
  // A message from a, of which a has heard that it arrived.
  static void Deliver(End& a, End& b) {
    ASSERT_EQ(b.Receive(1, {b.Segment(0, 64)}), 0);
    ASSERT_EQ(a.Send(b, 2, {a.Segment(0, 8)}), 0);
    EXPECT_EQ(Await(a.send_queue).status, IBV_WC_SUCCESS);
  }

  ibv_context* context_;
  ibv_comp_channel* channel_;
};

TEST_F(ChannelTest, OneEventForEachRequest) {
  End a({.nic = 0});
  End b({.nic = 1, .channel = channel_});
  ibv_cq* queue = ibv_cq_ex_to_cq(b.receive_queue);
  Deliver(a, b);
  EXPECT_FALSE(Readable(channel_, 0));  // not asked for

  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(ibv_req_notify_cq(queue, 0), 0);
    EXPECT_FALSE(Readable(channel_, 0));  // an entry that is there already is no event
    ASSERT_EQ(b.Receive(1, {b.Segment(0, 64)}), 0);
    ASSERT_EQ(a.Send(b, 2, {a.Segment(0, 8)}), 0);
    ASSERT_TRUE(Readable(channel_, kGuard));  // while no thread polls
    ibv_cq* told = nullptr;
    void* cq_context = nullptr;
    ASSERT_EQ(ibv_get_cq_event(channel_, &told, &cq_context), 0);
    EXPECT_EQ(told, queue);
    EXPECT_EQ(cq_context, &b);
    EXPECT_FALSE(Readable(channel_, 0));
    EXPECT_EQ(Await(a.send_queue).status, IBV_WC_SUCCESS);
    Deliver(a, b);
    EXPECT_FALSE(Readable(channel_, 0));  // one event, one request
  }
  ibv_ack_cq_events(queue, 3);
  for (int i = 0; i < 7; ++i) EXPECT_TRUE(Take(b.receive_queue).has_value()) << i;
  EXPECT_TRUE(b.Quiet());
}

// What completes within a call of another thread wakes the one that waits, too.
TEST_F(ChannelTest, ReceivesThatAreFlushedAreAnEvent) {
  End b({.nic = 1, .channel = channel_});
  ibv_cq* queue = ibv_cq_ex_to_cq(b.receive_queue);
  ASSERT_EQ(b.Receive(1, {b.Segment(0, 64)}), 0);
  ASSERT_EQ(ibv_req_notify_cq(queue, 0), 0);
  EXPECT_FALSE(Readable(channel_, 100));  // the device's thread rests
  ASSERT_EQ(Move(b.queue_pair, IBV_QPS_ERR), 0);
  ASSERT_TRUE(Readable(channel_, kGuard));
  ibv_cq* told = nullptr;
  void* cq_context = nullptr;
  ASSERT_EQ(ibv_get_cq_event(channel_, &told, &cq_context), 0);
  EXPECT_EQ(told, queue);
  ibv_ack_cq_events(queue, 1);
  EXPECT_EQ(Await(b.receive_queue).status, IBV_WC_WR_FLUSH_ERR);
}

TEST_F(ChannelTest, TwoRequestsForOneEventAreOne) {
  End a({.nic = 0});
  End b({.nic = 1, .channel = channel_});
  ibv_cq* queue = ibv_cq_ex_to_cq(b.receive_queue);
  ASSERT_EQ(ibv_req_notify_cq(queue, 0), 0);
  ASSERT_EQ(ibv_req_notify_cq(queue, 0), 0);
  Deliver(a, b);
  Deliver(a, b);
  ASSERT_TRUE(Readable(channel_, kGuard));
  ibv_cq* told = nullptr;
  void* cq_context = nullptr;
  ASSERT_EQ(ibv_get_cq_event(channel_, &told, &cq_context), 0);
  EXPECT_FALSE(Readable(channel_, 0));
  ibv_ack_cq_events(queue, 1);
}

TEST_F(ChannelTest, TwoQueuesOnOneChannel) {
  End a({.nic = 0});
  End b({.nic = 1, .channel = channel_});
  End c({.nic = 1, .channel = channel_});
  ASSERT_EQ(ibv_req_notify_cq(ibv_cq_ex_to_cq(b.receive_queue), 0), 0);
  ASSERT_EQ(ibv_req_notify_cq(ibv_cq_ex_to_cq(c.receive_queue), 0), 0);
  Deliver(a, c);
  ASSERT_TRUE(Readable(channel_, kGuard));
  ibv_cq* told = nullptr;
  void* cq_context = nullptr;
  ASSERT_EQ(ibv_get_cq_event(channel_, &told, &cq_context), 0);
  EXPECT_EQ(cq_context, &c);
  ibv_ack_cq_events(told, 1);
  Deliver(a, b);
  ASSERT_TRUE(Readable(channel_, kGuard));
  ASSERT_EQ(ibv_get_cq_event(channel_, &told, &cq_context), 0);
  EXPECT_EQ(cq_context, &b);
  EXPECT_EQ(told, ibv_cq_ex_to_cq(b.receive_queue));
  ibv_ack_cq_events(told, 1);
}

// A program that drives its queues itself reads the kernel's event, as libfabric's direct data path
// does: the address of the queue, and nothing more.
TEST_F(ChannelTest, TheDescriptorTellsTheQueue) {
  End a({.nic = 0});
  End b({.nic = 1, .channel = channel_});
  ASSERT_EQ(ibv_req_notify_cq(ibv_cq_ex_to_cq(b.receive_queue), 0), 0);
  Deliver(a, b);
  ASSERT_TRUE(Readable(channel_, kGuard));
  std::uint64_t events[4] = {};
  ASSERT_EQ(read(channel_->fd, events, sizeof events), 8);
  EXPECT_EQ(reinterpret_cast<ibv_cq*>(events[0]), ibv_cq_ex_to_cq(b.receive_queue));
  EXPECT_FALSE(Readable(channel_, 0));
  ibv_ack_cq_events(ibv_cq_ex_to_cq(b.receive_queue), 1);
}

// The thread that reads events still has the queue when another one destroys it.
TEST_F(ChannelTest, AQueueWaitsForTheAcknowledgementOfItsEvents) {
  End a({.nic = 0});
  std::optional<End> b(std::in_place, EndOptions{.nic = 1, .channel = channel_});
  ASSERT_EQ(ibv_req_notify_cq(ibv_cq_ex_to_cq(b->receive_queue), 0), 0);
  Deliver(a, *b);
  std::promise<void> read;
  std::atomic<bool> acknowledged{false};
  std::thread reader([&] {
    ibv_cq* told = nullptr;
    void* cq_context = nullptr;
    EXPECT_EQ(ibv_get_cq_event(channel_, &told, &cq_context), 0);
    read.set_value();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_EQ(told->cq_context, cq_context);
    EXPECT_EQ(ibv_req_notify_cq(told, 0), 0);  // it is told of nothing more
    acknowledged = true;
    ibv_ack_cq_events(told, 1);
  });
  read.get_future().wait();
  a.Forget(*b);
  const auto begun = std::chrono::steady_clock::now();
  b.reset();
  // A reader that has no processor for so long is left behind: see the next test.
  EXPECT_TRUE(acknowledged || std::chrono::steady_clock::now() - begun >= kHeld);
  reader.join();
  End c({.nic = 1, .channel = channel_});
  Deliver(a, c);
  EXPECT_FALSE(Readable(channel_, 0));
}

// A program that never does waits for ever on hardware; here the device goes on after a while, and
// the queue's memory is there for whoever has it yet.
TEST_F(ChannelTest, AnEventThatNobodyAcknowledgesHoldsAQueueForAWhile) {
  End a({.nic = 0});
  std::optional<End> b(std::in_place, EndOptions{.nic = 1, .channel = channel_});
  ASSERT_EQ(ibv_req_notify_cq(ibv_cq_ex_to_cq(b->receive_queue), 0), 0);
  Deliver(a, *b);
  ibv_cq* told = nullptr;
  void* cq_context = nullptr;
  ASSERT_EQ(ibv_get_cq_event(channel_, &told, &cq_context), 0);
  a.Forget(*b);
  const auto begun = std::chrono::steady_clock::now();
  b.reset();
  EXPECT_GE(std::chrono::steady_clock::now() - begun, kHeld);
  ibv_ack_cq_events(told, 1);
  EXPECT_EQ(told->comp_events_completed, 1u);
}

TEST_F(ChannelTest, AQueueTakesItsEventsWithIt) {
  End a({.nic = 0});
  End b({.nic = 1, .channel = channel_});
  {
    End c({.nic = 1, .channel = channel_});
    for (End* end : {&b, &c}) {
      ASSERT_EQ(ibv_req_notify_cq(ibv_cq_ex_to_cq(end->receive_queue), 0), 0);
      Deliver(a, *end);
    }
    ASSERT_TRUE(Readable(channel_, kGuard));
    a.Forget(c);
  }
  ibv_cq* told = nullptr;
  void* cq_context = nullptr;
  ASSERT_TRUE(Readable(channel_, kGuard));
  ASSERT_EQ(ibv_get_cq_event(channel_, &told, &cq_context), 0);
  EXPECT_EQ(cq_context, &b);
  EXPECT_FALSE(Readable(channel_, 0));
  ibv_ack_cq_events(told, 1);
}

// More than a socket holds.
TEST_F(ChannelTest, EventsThatNobodyReadsWait) {
  constexpr int kEvents = 1000;
  End a({.nic = 0});
  End b({.nic = 1, .channel = channel_});
  for (int i = 0; i < kEvents; ++i) {
    ASSERT_EQ(ibv_req_notify_cq(ibv_cq_ex_to_cq(b.receive_queue), 0), 0);
    Deliver(a, b);
    EXPECT_EQ(Await(b.receive_queue).status, IBV_WC_SUCCESS);
  }
  for (int i = 0; i < kEvents; ++i) {
    ASSERT_TRUE(Readable(channel_, kGuard)) << i;
    ibv_cq* told = nullptr;
    void* cq_context = nullptr;
    ASSERT_EQ(ibv_get_cq_event(channel_, &told, &cq_context), 0);
    EXPECT_EQ(cq_context, &b);
  }
  EXPECT_FALSE(Readable(channel_, 0));
  ibv_ack_cq_events(ibv_cq_ex_to_cq(b.receive_queue), kEvents);
}

TEST_F(ChannelTest, WhatCannotBeAskedFor) {
  End b({.nic = 1, .channel = channel_});
  EXPECT_EQ(ibv_req_notify_cq(ibv_cq_ex_to_cq(b.receive_queue), 1), EOPNOTSUPP);
  EXPECT_EQ(ibv_req_notify_cq(ibv_cq_ex_to_cq(b.send_queue), 0), EINVAL);  // it has no channel
  EXPECT_EQ(ibv_destroy_comp_channel(channel_), EBUSY);
}

TEST_F(ChannelTest, ASignalEndsAWait) {
  const RepeatedAlarm alarm;
  ibv_cq* told = nullptr;
  void* cq_context = nullptr;
  EXPECT_EQ(ibv_get_cq_event(channel_, &told, &cq_context), -1);
  EXPECT_EQ(errno, EINTR);
}

TEST_F(ChannelTest, ADescriptorThatDoesNotBlock) {
  ASSERT_EQ(fcntl(channel_->fd, F_SETFL, fcntl(channel_->fd, F_GETFL) | O_NONBLOCK), 0);
  ibv_cq* told = nullptr;
  void* cq_context = nullptr;
  EXPECT_EQ(ibv_get_cq_event(channel_, &told, &cq_context), -1);
  EXPECT_EQ(errno, EAGAIN);
}

}  // namespace
}  // namespace drydock::sim_testing
