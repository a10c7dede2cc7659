// Queues that a program drives itself: the requests in its rings are executed when it writes
// doorbells, and the device's entries are at their agreed places, though no function is called.

#include "drydock/sim/verbs/testing/mapped_queues.h"

#include <infiniband/efadv.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <thread>

#include "drydock/fabric/efa_queue/cqe.h"
#include "drydock/fabric/efa_queue/wqe.h"
#include "drydock/sim/verbs/newer_functions.h"
#include "drydock/sim/verbs/testing/end.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

namespace efa = fabric::efa_queue;
using sim::verbs::CqAttr;
using sim::verbs::CqInitAttr;
using sim::verbs::QueryEfaQueue;
using sim::verbs::QueryEfaRings;
using sim::verbs::WqAttr;

double Seconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

TEST(MappedQueuesTest, MessagesWithoutACall) {
  End a({.nic = 0});
  End b({.nic = 1});
  a.HandleOf(b);
  b.HandleOf(a);
  MappedRings from(a);
  MappedRings to(b);
  MappedQueue sent(a.send_queue);
  MappedQueue received(b.receive_queue);
  EXPECT_EQ(sent.attr().entry_size, 32u);
  EXPECT_EQ(sent.attr().num_entries, 128u);
  EXPECT_EQ(from.receives().entry_size, 16u);

  // More than either ring has entries.
  const std::uint32_t count = 5 * from.sends().num_entries + 3;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto number = static_cast<std::uint16_t>(i);
    to.Receive(number, 4096, 64);
    Fill({a.at(0), 64}, i);
    from.WriteSend(b, number, efa::Operation::kSend, 0, 64);
    from.RingSends();
    const auto arrived = received.Wait();
    ASSERT_TRUE(arrived.has_value()) << i;
    EXPECT_EQ(arrived->status, efa::CompletionStatus::kOk);
    EXPECT_EQ(arrived->request_id, number);
    EXPECT_EQ(arrived->length, 64u);
    EXPECT_TRUE(Holds({b.at(4096), 64}, i)) << i;
    const auto done = sent.Wait();
    ASSERT_TRUE(done.has_value()) << i;
    EXPECT_EQ(done->request_id, number);
    from.SendEnded();
  }
}

// A word in memory shows the last value only, also where the device takes no more than a batch at a
// time.
TEST(MappedQueuesTest, DoorbellMayHaveMovedByMoreThanABatch) {
  End a({.nic = 0, .sends = 64, .unsolicited = true});
  End b({.nic = 1, .unsolicited = true});
  a.HandleOf(b);
  b.HandleOf(a);
  MappedRings from(a);
  MappedQueue sent(a.send_queue);
  MappedQueue received(b.receive_queue);
  const std::uint32_t count = from.sends().num_entries;
  ASSERT_GT(count, from.sends().max_batch);
  Fill({a.at(0), 64 * count}, 7);
  for (std::uint32_t i = 0; i < count; ++i) {
    from.WriteSend(b, static_cast<std::uint16_t>(i), efa::Operation::kWrite, 64 * i, 64);
  }
  from.RingSends();
  for (std::uint32_t i = 0; i < count; ++i) {
    ASSERT_TRUE(sent.Wait().has_value()) << i;
    const auto announced = received.Wait();
    ASSERT_TRUE(announced.has_value()) << i;
    EXPECT_TRUE(announced->has_immediate && announced->unsolicited);
  }
  EXPECT_TRUE(Holds({b.at(0), 64 * count}, 7));
}

TEST(MappedQueuesTest, DoorbellIsSeenAfterALongRest) {
  End a({.nic = 0, .unsolicited = true});
  End b({.nic = 1, .unsolicited = true});
  a.HandleOf(b);
  b.HandleOf(a);
  MappedRings from(a);
  MappedQueue sent(a.send_queue);
  // The device's thread does not look all the time: a rest costs it less than half a processor. One
  // of several will do: a virtual machine counts time that others took as well.
  double share = 1;
  for (int rest = 0; rest < 20 && share >= 0.5; ++rest) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const double before = Seconds(CLOCK_PROCESS_CPUTIME_ID);
    const double begun = Seconds(CLOCK_MONOTONIC);
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    share = (Seconds(CLOCK_PROCESS_CPUTIME_ID) - before) / (Seconds(CLOCK_MONOTONIC) - begun);
  }
  EXPECT_LT(share, 0.5);
  from.WriteSend(b, 1, efa::Operation::kWrite, 0, 8);
  from.RingSends();
  EXPECT_TRUE(sent.Wait().has_value());
}

TEST(MappedQueuesTest, NonsenseInADoorbellIsRefusedAndTheNextOneTaken) {
  End a({.nic = 0, .unsolicited = true});
  End b({.nic = 1, .unsolicited = true});
  a.HandleOf(b);
  b.HandleOf(a);
  MappedRings from(a);
  MappedQueue sent(a.send_queue);
  MappedRings::Store(from.sends().doorbell, 30000);  // more than the ring has
  End other({.nic = 1});
  ASSERT_EQ(other.Receive(1, {other.Segment(0, 8)}), 0);  // the device has had its turn by now
  EXPECT_FALSE(sent.Poll().has_value());
  // More than a batch, counted from what was taken before the nonsense.
  const std::uint32_t count = from.sends().max_batch + 1;
  for (std::uint32_t i = 0; i < count; ++i) {
    from.WriteSend(b, static_cast<std::uint16_t>(i), efa::Operation::kWrite, 0, 8);
  }
  from.RingSends();
  for (std::uint32_t i = 0; i < count; ++i) EXPECT_TRUE(sent.Wait().has_value()) << i;
}

// The query copies addresses and no more: programs ask, and post by calls all the same.
TEST(MappedQueuesTest, OrdinaryPostsWorkUntilTheProgramRings) {
  End a({.nic = 0});
  End b({.nic = 1});
  MappedRings from(a);
  MappedRings to(b);
  for (std::uint64_t i = 0; i < 40; ++i) {
    ASSERT_EQ(b.Receive(1000 + i, {b.Segment(0, 64)}), 0) << i;
    ASSERT_EQ(a.Send(b, 2000 + i, {a.Segment(0, 8)}), 0) << i;
    EXPECT_EQ(Await(a.send_queue).wr_id, 2000 + i);
    EXPECT_EQ(Await(b.receive_queue).wr_id, 1000 + i);
  }
  // The program goes on where the calls have ended: only the queue that it rings is its own.
  for (int i = 0; i < 40; ++i) from.SkipSend();
  ASSERT_EQ(b.Receive(3, {b.Segment(0, 64)}), 0);
  from.WriteSend(b, 4, efa::Operation::kSend, 0, 8);
  from.RingSends();
  EXPECT_EQ(Await(a.send_queue).wr_id, 4u);
  EXPECT_EQ(Await(b.receive_queue).wr_id, 3u);
  EXPECT_EQ(a.Send(b, 5, {a.Segment(0, 8)}), EINVAL);
  EXPECT_EQ(a.Receive(5, {a.Segment(0, 8)}), 0);
}

// Our own functions would not know where the program's entries end.
TEST(MappedQueuesTest, OrdinaryPostsAreRefusedAfterTheProgramRangAndPollsTellItsNumbers) {
  End a({.nic = 0, .unsolicited = true});
  End b({.nic = 1, .unsolicited = true});
  a.HandleOf(b);
  b.HandleOf(a);
  MappedRings from(a);
  from.Receive(78, 0, 8);
  from.WriteSend(b, 77, efa::Operation::kWrite, 0, 8);
  from.RingSends();
  const Entry entry = Await(a.send_queue);  // a queue that was not mapped
  EXPECT_EQ(entry.status, IBV_WC_SUCCESS);
  EXPECT_EQ(entry.wr_id, 77u);
  EXPECT_EQ(a.Send(b, 1, {a.Segment(0, 8)}), EINVAL);
  EXPECT_EQ(a.Receive(1, {a.Segment(0, 8)}), EINVAL);
}

// Whether or not the host's thread has looked at the doorbell by then.
TEST(MappedQueuesTest, OrdinaryPostsAreRefusedFromTheRingOn) {
  End a({.nic = 0, .unsolicited = true});
  End b({.nic = 1, .unsolicited = true});
  b.HandleOf(a);
  MappedRings from(a);
  const auto ring_within = [&](ibv_qp_ex* session) {
    ibv_wr_rdma_write(session, b.region->rkey, b.address(0));
    ibv_wr_set_sge(session, a.region->lkey, a.address(0), 8);
    from.WriteSend(b, 77, efa::Operation::kWrite, 0, 8);
    from.RingSends();
  };
  EXPECT_EQ(a.Post(b, 1, ring_within), EINVAL);
  from.Receive(78, 0, 8);
  EXPECT_EQ(a.Receive(2, {a.Segment(0, 8)}), EINVAL);
  EXPECT_EQ(Await(a.send_queue).wr_id, 77u);
}

TEST(MappedQueuesTest, ArmedDoorbellRaisesAnEvent) {
  ibv_context* context = OpenDevice(1);
  ibv_comp_channel* channel = ibv_create_comp_channel(context);
  {
    End a({.nic = 0});
    End b({.nic = 1, .channel = channel});
    MappedQueue received(b.receive_queue);
    // The device has no doorbell for a queue that raises no events (DeviceAttributes::cq_doorbell).
    EXPECT_EQ(MappedQueue(a.receive_queue).attr().doorbell, nullptr);
    ASSERT_EQ(b.Receive(1, {b.Segment(0, 64)}), 0);
    received.Arm();
    // No function is called between that and the message's arrival, but those of the sender.
    ASSERT_EQ(a.Send(b, 2, {a.Segment(0, 8)}), 0);
    EXPECT_EQ(Await(a.send_queue).status, IBV_WC_SUCCESS);
    pollfd asked{.fd = channel->fd, .events = POLLIN, .revents = 0};
    ASSERT_EQ(poll(&asked, 1, 100000), 1);
    ibv_cq* told = nullptr;
    void* cq_context = nullptr;
    ASSERT_EQ(ibv_get_cq_event(channel, &told, &cq_context), 0);
    EXPECT_EQ(told, ibv_cq_ex_to_cq(b.receive_queue));
    ibv_ack_cq_events(told, 1);
    EXPECT_TRUE(received.Poll().has_value());
  }
  EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
  EXPECT_EQ(ibv_close_device(context), 0);
}

// The word is looked at some time after it was written: what has come since is an event as well.
TEST(MappedQueuesTest, ArmedDoorbellThatIsSeenLateRaisesAnEvent) {
  ibv_context* context = OpenDevice(1);
  ibv_comp_channel* channel = ibv_create_comp_channel(context);
  {
    End a({.nic = 0});
    End b({.nic = 1, .channel = channel});
    MappedQueue received(b.receive_queue);
    pollfd asked{.fd = channel->fd, .events = POLLIN, .revents = 0};
    const auto deliver = [&] {
      EXPECT_EQ(b.Receive(1, {b.Segment(0, 64)}), 0);
      EXPECT_EQ(a.Send(b, 2, {a.Segment(0, 8)}), 0);
      EXPECT_EQ(Await(a.send_queue).status, IBV_WC_SUCCESS);
    };
    deliver();
    received.Arm();  // as far as it has read: the entry is behind that
    ASSERT_EQ(poll(&asked, 1, 100000), 1);
    ibv_cq* told = nullptr;
    void* cq_context = nullptr;
    ASSERT_EQ(ibv_get_cq_event(channel, &told, &cq_context), 0);
    ibv_ack_cq_events(told, 1);
    EXPECT_TRUE(received.Poll().has_value());
    deliver();
    EXPECT_EQ(poll(&asked, 1, 50), 0);  // one event for one doorbell
    EXPECT_TRUE(received.Poll().has_value());
  }
  EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
  EXPECT_EQ(ibv_close_device(context), 0);
}

// The program's counters start at 0 again, and so do the device's.
TEST(MappedQueuesTest, RingsOfAQueuePairThatIsResetStartAnew) {
  End sender({});
  End receiver({});
  MappedQueue sent(sender.send_queue);
  for (int round = 0; round < 2; ++round) {
    MappedRings rings(sender);
    ASSERT_EQ(receiver.Receive(1, {receiver.Segment(0, 64)}), 0);
    rings.WriteSend(receiver, 7, efa::Operation::kSend, 0, 8);
    rings.RingSends();
    const auto entry = sent.Wait();
    ASSERT_TRUE(entry.has_value()) << round;
    EXPECT_EQ(entry->request_id, 7u);
    EXPECT_EQ(Await(receiver.receive_queue).wr_id, 1u);
    ASSERT_EQ(Move(sender.queue_pair, IBV_QPS_RESET), 0);
    EXPECT_EQ(*rings.sends().doorbell, 0u);
    ASSERT_EQ(MakeReady(sender.queue_pair), 0);
  }
}

TEST(MappedQueuesTest, WhatCannotBeAskedIsRefused) {
  End end;
  WqAttr sends{};
  WqAttr receives{};
  constexpr std::uint32_t kShortest = offsetof(WqAttr, caps);
  EXPECT_EQ(QueryEfaRings(end.queue_pair, &sends, &receives, kShortest - 1), EINVAL);
  CqAttr queue{};
  ibv_cq* cq = ibv_cq_ex_to_cq(end.send_queue);
  EXPECT_EQ(QueryEfaQueue(cq, &queue, offsetof(CqAttr, doorbell) - 1), EINVAL);
  EXPECT_EQ(end.Receive(1, {end.Segment(0, 8)}), 0);  // nothing was mapped

  // What was in the structures means nothing: they are for answers.
  std::memset(&sends, 0xee, sizeof sends);
  std::memset(&queue, 0xee, sizeof queue);
  EXPECT_EQ(QueryEfaRings(end.queue_pair, &sends, &receives, kShortest), 0);
  EXPECT_EQ(sends.comp_mask, 0u);
  EXPECT_EQ(sends.caps, 0xeeeeu);  // of a release that had none
  EXPECT_EQ(QueryEfaRings(end.queue_pair, &sends, &receives, sizeof sends), 0);
  EXPECT_EQ(sends.caps & sim::verbs::kWqWith64BitRequestIds, 0);
  EXPECT_EQ(receives.caps, 0);
  EXPECT_EQ(QueryEfaQueue(cq, &queue, sizeof queue), 0);
  EXPECT_EQ(queue.comp_mask, 0u);
}

// That of the release that had no doorbell in it.
TEST(MappedQueuesTest, TheFirstFormOfAQueuesStructureIsFilledAndNothingBehindIt) {
  End end;
  constexpr std::uint32_t kFirst = 24;
  CqAttr queue{};
  std::memset(&queue, 0xee, sizeof queue);
  EXPECT_EQ(QueryEfaQueue(ibv_cq_ex_to_cq(end.send_queue), &queue, kFirst), 0);
  EXPECT_EQ(queue.comp_mask, 0u);
  EXPECT_NE(queue.buffer, nullptr);
  EXPECT_EQ(queue.entry_size, 32u);
  EXPECT_EQ(queue.num_entries, 128u);
  std::uint64_t behind = 0;
  std::memcpy(&behind, reinterpret_cast<const std::uint8_t*>(&queue) + kFirst, sizeof behind);
  EXPECT_EQ(behind, 0xeeeeeeeeeeeeeeee);
}

// ---- Completion queues in a program's memory ----

class ExternalQueueTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kOffset = 4096 + 64;
  static constexpr std::size_t kBytes = 64 * 32;

  ExternalQueueTest() : fd_(memfd_create("completions", MFD_CLOEXEC)), context_(OpenDevice(0)) {
    EXPECT_EQ(ftruncate(fd_, 4 * 4096), 0);
    memory_ = static_cast<std::uint8_t*>(
        mmap(nullptr, 4 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0));
  }
  ~ExternalQueueTest() override {
    munmap(memory_, 4 * 4096);
    close(fd_);
    EXPECT_EQ(ibv_close_device(context_), 0);
  }

  ibv_cq_ex* Create(std::uint64_t offset, std::uint64_t length, int fd) {
    ibv_cq_init_attr_ex attr{};
    attr.cqe = 64;
    attr.wc_flags = IBV_WC_STANDARD_FLAGS;
    CqInitAttr efa{};
    efa.flags = sim::verbs::kCqExtMemDmabuf;
    efa.ext_mem_dmabuf.length = length;
    efa.ext_mem_dmabuf.offset = offset;
    efa.ext_mem_dmabuf.fd = fd;
    return efadv_create_cq(context_, &attr, reinterpret_cast<efadv_cq_init_attr*>(&efa),
                           sizeof efa);
  }
  int ErrorOf(std::uint64_t offset, std::uint64_t length, int fd) {
    errno = 0;
    EXPECT_EQ(Create(offset, length, fd), nullptr);
    return errno;
  }

  int fd_;
  ibv_context* context_;
  std::uint8_t* memory_ = nullptr;
};

TEST_F(ExternalQueueTest, EntriesAreInTheProgramsMemory) {
  ibv_cq_ex* queue = Create(kOffset, kBytes, fd_);
  ASSERT_NE(queue, nullptr);
  ibv_pd* domain = ibv_alloc_pd(context_);
  ibv_qp* queue_pair = MakeQueuePair(context_, QueuePairAttributes(domain, queue, queue));
  ASSERT_NE(queue_pair, nullptr);
  ASSERT_EQ(MakeReady(queue_pair), 0);
  // A receive whose queue pair fails ends as flushed.
  End other;
  ibv_sge segment = other.Segment(0, 8);
  ibv_recv_wr request{.wr_id = 5, .next = nullptr, .sg_list = &segment, .num_sge = 1};
  ibv_recv_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_recv(queue_pair, &request, &bad), 0);
  ASSERT_EQ(Move(queue_pair, IBV_QPS_ERR), 0);
  PollUntil([&] { return efa::CompletionIsThere(memory_ + kOffset, 1); });
  EXPECT_TRUE(efa::CompletionIsThere(memory_ + kOffset, 1));
  EXPECT_EQ(efa::QueuePairOf(memory_ + kOffset), queue_pair->qp_num);
  EXPECT_EQ(Await(queue).wr_id, 5u);
  EXPECT_EQ(ibv_destroy_qp(queue_pair), 0);
  EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(queue)), 0);
  EXPECT_EQ(ibv_dealloc_pd(domain), 0);
}

TEST_F(ExternalQueueTest, MemoryThatCannotBeIsRefused) {
  EXPECT_EQ(ErrorOf(kOffset, kBytes - 1, fd_), EINVAL);            // too short
  EXPECT_EQ(ErrorOf(kOffset + 4, kBytes, fd_), EINVAL);            // not aligned
  EXPECT_EQ(ErrorOf(0, kBytes, -1), EINVAL);                       // nothing
  EXPECT_EQ(ErrorOf(4 * 4096 - kBytes + 8, kBytes, fd_), EINVAL);  // past the end
  EXPECT_EQ(ErrorOf(UINT64_MAX - 7, kBytes, fd_), EINVAL);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_EQ(ErrorOf(0, kBytes, ends[0]), EOPNOTSUPP);  // nothing that has memory
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace drydock::sim_testing
