// Messages, writes and reads between two NICs of a machine, and how a program learns of their end.

#include <infiniband/verbs.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "drydock/sim/verbs/testing/end.h"
#include "drydock/sim/verbs/testing/two_ends.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

// ---- Messages ----

TEST_F(TrafficTest, AMessage) {
  Fill(std::span(a.memory).first(5000), 1);
  ASSERT_EQ(b.Receive(11, {b.Segment(0, 5000)}), 0);
  ASSERT_EQ(a.Send(b, 22, {a.Segment(0, 5000)}), 0);
  const Entry sent = Sent(22);
  EXPECT_EQ(sent.opcode, IBV_WC_SEND);
  EXPECT_EQ(sent.queue_pair, a.queue_pair->qp_num);
  EXPECT_EQ(sent.vendor_error, 0u);
  const Entry received = Await(b.receive_queue);
  EXPECT_EQ(received.wr_id, 11u);
  EXPECT_EQ(received.status, IBV_WC_SUCCESS);
  EXPECT_EQ(received.opcode, IBV_WC_RECV);
  EXPECT_EQ(received.byte_len, 5000u);
  EXPECT_EQ(received.flags, 0u);
  EXPECT_EQ(received.queue_pair, b.queue_pair->qp_num);
  EXPECT_EQ(received.source_queue_pair, a.queue_pair->qp_num);
  EXPECT_FALSE(received.unsolicited);
  EXPECT_TRUE(Holds(Bytes(b, 0, 5000), 1));
  EXPECT_TRUE(a.Quiet());
  EXPECT_TRUE(b.Quiet());
}

TEST_F(TrafficTest, AMessageWithAnImmediate) {
  ASSERT_EQ(b.Receive(11, {b.Segment(0, 64)}), 0);
  ASSERT_EQ(a.Send(b, 22, {a.Segment(0, 64)}, 0x12345678), 0);
  Sent(22);
  const Entry received = Await(b.receive_queue);
  EXPECT_EQ(received.flags, static_cast<unsigned>(IBV_WC_WITH_IMM));
  EXPECT_EQ(received.immediate, 0x12345678u);
}

TEST_F(TrafficTest, InlineBytesAreTakenByThePost) {
  for (const std::uint32_t length : {0u, 1u, 7u, 8u, 31u, 32u}) {
    std::fill(b.memory.begin(), b.memory.end(), std::byte{});
    Fill(std::span(a.memory).first(32), length);
    ASSERT_EQ(b.Receive(1, {b.Segment(0, 64)}), 0);
    // Memory that no region has is fine.
    const ibv_sge segment{.addr = a.address(0), .length = length, .lkey = 0};
    ASSERT_EQ(a.Send(b, 2, {segment}, std::nullopt, IBV_SEND_SIGNALED | IBV_SEND_INLINE), 0);
    std::fill(a.memory.begin(), a.memory.end(), std::byte{0xff});
    Sent(2);
    EXPECT_EQ(Await(b.receive_queue).byte_len, length);
    EXPECT_TRUE(Holds(Bytes(b, 0, length), length)) << length;
    EXPECT_EQ(b.memory[length], std::byte{});
  }
}

TEST_F(TrafficTest, TheWiderEntriesTakeMoreInline) {
  End wide({.inline_bytes = 80});
  wide.HandleOf(b);
  b.HandleOf(wide);
  Fill(std::span(wide.memory).first(80), 3);
  ASSERT_EQ(b.Receive(1, {b.Segment(0, 80)}), 0);
  ASSERT_EQ(
      wide.Send(b, 2,
                {{.addr = wide.address(0), .length = 30}, {.addr = wide.address(30), .length = 50}},
                std::nullopt, IBV_SEND_SIGNALED | IBV_SEND_INLINE),
      0);
  EXPECT_EQ(Await(wide.send_queue).status, IBV_WC_SUCCESS);
  EXPECT_EQ(Await(b.receive_queue).byte_len, 80u);
  EXPECT_TRUE(Holds(Bytes(b, 0, 80), 3));
}

TEST_F(TrafficTest, TwoSegmentsIntoThree) {
  Fill(std::span(a.memory).first(300), 5);
  ASSERT_EQ(b.Receive(1, {b.Segment(1000, 50), b.Segment(3000, 1), b.Segment(2000, 1000)}), 0);
  ASSERT_EQ(a.Send(b, 2, {a.Segment(0, 100), a.Segment(100, 200)}), 0);
  Sent(2);
  EXPECT_EQ(Await(b.receive_queue).byte_len, 300u);
  std::vector<std::byte> arrived(b.at(1000), b.at(1050));
  arrived.push_back(b.memory[3000]);
  arrived.insert(arrived.end(), b.at(2000), b.at(2249));
  EXPECT_TRUE(Holds(arrived, 5));
}

TEST_F(TrafficTest, PostsThatAreRefused) {
  const ibv_sge one = a.Segment(0, 8);
  EXPECT_EQ(a.Send(b, 1, {one, one, one}), EINVAL);
  EXPECT_EQ(a.Send(b, 1, {one}, std::nullopt, /*flags=*/0), EINVAL);  // not signalled
  EXPECT_EQ(a.Send(b, 1, {one}, std::nullopt, IBV_SEND_SIGNALED | IBV_SEND_FENCE), EINVAL);
  EXPECT_EQ(a.Send(b, 1, {a.Segment(0, 33)}, std::nullopt, IBV_SEND_SIGNALED | IBV_SEND_INLINE),
            EINVAL);
  EXPECT_EQ(a.Send(b, 1, {a.Segment(0, 20), a.Segment(0, 20)}, std::nullopt,
                   IBV_SEND_SIGNALED | IBV_SEND_INLINE),
            EINVAL);
  EXPECT_EQ(b.Receive(1, {one, one, one, one}), EINVAL);
  EXPECT_TRUE(a.Quiet());
}

// libefa writes no descriptor for it, and keeps a slot.
TEST_F(TrafficTest, AReceiveWithoutASegmentIsTakenAndNeverEnds) {
  ASSERT_EQ(b.Receive(1, {}), 0);
  ASSERT_EQ(b.Receive(2, {b.Segment(0, 64)}), 0);
  ASSERT_EQ(a.Send(b, 3, {a.Segment(0, 8)}), 0);
  Sent(3);
  EXPECT_EQ(Await(b.receive_queue).wr_id, 2u);
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  ASSERT_EQ(ibv_query_qp(b.queue_pair, &attr, IBV_QP_CAP, &init), 0);
  for (std::uint32_t i = 1; i < init.cap.max_recv_wr; ++i) ASSERT_EQ(b.Receive(1, {}), 0) << i;
  EXPECT_EQ(b.Receive(1, {}), ENOMEM);
  ASSERT_EQ(ibv_destroy_qp(b.queue_pair), 0);
  b.queue_pair = nullptr;
  EXPECT_TRUE(b.Quiet());
}

// libefa asks for no more segments than there may be; an empty message is inline.
TEST_F(TrafficTest, WorkWithoutASegmentIsPostedAndFails) {
  ASSERT_EQ(b.Receive(1, {b.Segment(0, 64)}), 0);
  const auto failed = [&](std::uint64_t wr_id) {
    const Entry entry = Await(a.send_queue);
    EXPECT_EQ(entry.wr_id, wr_id);
    EXPECT_EQ(entry.status, IBV_WC_LOC_QP_OP_ERR);
    EXPECT_EQ(entry.vendor_error, 2u);
  };
  ASSERT_EQ(a.Send(b, 2, {}), 0);
  failed(2);
  for (const bool write : {false, true}) {
    const auto build = [&](ibv_qp_ex* ex) {
      write ? ibv_wr_rdma_write(ex, b.region->rkey, b.address(0)) : ibv_wr_send(ex);
      ibv_wr_set_sge_list(ex, 0, nullptr);
    };
    ASSERT_EQ(a.Post(b, 3, build), 0) << write;
    failed(3);
  }
  ASSERT_EQ(a.Send(b, 5, {}, std::nullopt, IBV_SEND_SIGNALED | IBV_SEND_INLINE), 0);
  Sent(5);
  EXPECT_EQ(Await(b.receive_queue).byte_len, 0u);
}

TEST_F(TrafficTest, AListUpToItsFirstBadRequest) {
  ASSERT_EQ(b.Receive(1, {b.Segment(0, 64)}), 0);
  ASSERT_EQ(b.Receive(2, {b.Segment(0, 64)}), 0);
  ibv_sge segment = a.Segment(0, 8);
  std::vector<ibv_send_wr> list(4);
  for (std::size_t i = 0; i < list.size(); ++i) {
    list[i].wr_id = i;
    list[i].next = i + 1 < list.size() ? &list[i + 1] : nullptr;
    list[i].sg_list = &segment;
    list[i].num_sge = 1;
    list[i].opcode = i == 2 ? IBV_WR_RDMA_WRITE : IBV_WR_SEND;  // libefa posts no others this way
    list[i].send_flags = IBV_SEND_SIGNALED;
    list[i].wr.ud.ah = a.HandleOf(b);
    list[i].wr.ud.remote_qpn = b.queue_pair->qp_num;
    list[i].wr.ud.remote_qkey = End::kQkey;
  }
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_send(a.queue_pair, list.data(), &bad), EINVAL);
  EXPECT_EQ(bad, &list[2]);
  EXPECT_EQ(Await(a.send_queue).wr_id + Await(a.send_queue).wr_id, 0u + 1u);
  EXPECT_TRUE(a.Quiet());  // the last one was not posted
  Await(b.receive_queue);
  Await(b.receive_queue);

  std::vector<ibv_recv_wr> receives(3);
  ibv_sge into = b.Segment(0, 64);
  for (std::size_t i = 0; i < receives.size(); ++i) {
    receives[i].next = i + 1 < receives.size() ? &receives[i + 1] : nullptr;
    receives[i].sg_list = &into;
    receives[i].num_sge = i == 1 ? 9 : 1;
  }
  ibv_recv_wr* bad_receive = nullptr;
  EXPECT_EQ(ibv_post_recv(b.queue_pair, receives.data(), &bad_receive), EINVAL);
  EXPECT_EQ(bad_receive, &receives[1]);
}

TEST_F(TrafficTest, FullQueues) {
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  ASSERT_EQ(ibv_query_qp(a.queue_pair, &attr, IBV_QP_CAP, &init), 0);
  const std::uint64_t sends = attr.cap.max_send_wr;
  // There is no receive: the sends wait, for the peer retries for ever.
  for (std::uint64_t i = 0; i < sends; ++i) ASSERT_EQ(a.Send(b, i, {a.Segment(0, 8)}), 0) << i;
  EXPECT_EQ(a.Send(b, 99, {a.Segment(0, 8)}), ENOMEM);
  EXPECT_EQ(a.Write(b, 99, 8), ENOMEM);

  ASSERT_EQ(ibv_query_qp(b.queue_pair, &attr, IBV_QP_CAP, &init), 0);
  const std::uint64_t receives = attr.cap.max_recv_wr;
  ASSERT_GE(receives, sends);
  const std::vector<ibv_sge> three(3, b.Segment(0, 64));
  for (std::uint64_t i = 0; i < receives; ++i) ASSERT_EQ(b.Receive(i, three), 0) << i;
  EXPECT_EQ(b.Receive(99, three), ENOMEM);

  std::set<std::uint64_t> ended;
  for (std::uint64_t i = 0; i < sends; ++i) {
    const Entry entry = Await(a.send_queue);
    EXPECT_EQ(entry.status, IBV_WC_SUCCESS);
    ended.insert(entry.wr_id);
  }
  EXPECT_EQ(ended.size(), sends);  // each of them once
  EXPECT_EQ(*ended.rbegin(), sends - 1);
  EXPECT_EQ(b.Receive(99, three), ENOMEM);  // its completions were not read yet
  for (std::uint64_t i = 0; i < sends; ++i) Await(b.receive_queue);
  EXPECT_EQ(b.Receive(99, three), 0);
  EXPECT_EQ(a.Send(b, 99, {a.Segment(0, 8)}), 0);
  Sent(99);
}

// As libefa counts: receives, whatever segments they have.
TEST_F(TrafficTest, NoMoreShortReceivesThanLongOnes) {
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  ASSERT_EQ(ibv_query_qp(b.queue_pair, &attr, IBV_QP_CAP, &init), 0);
  for (std::uint64_t i = 0; i < attr.cap.max_recv_wr; ++i) {
    ASSERT_EQ(b.Receive(i, {b.Segment(0, 64)}), 0) << i;
  }
  EXPECT_EQ(b.Receive(99, {b.Segment(0, 64)}), ENOMEM);
}

TEST_F(TrafficTest, QueuesThatComeAroundManyTimes) {
  constexpr std::uint64_t kMessages = 600;
  constexpr std::uint64_t kReceives = 12;
  std::uint64_t posted = 0;
  std::uint64_t sent = 0;
  std::uint64_t immediates = 0;  // their sum
  std::uint64_t received = 0;
  for (std::uint64_t i = 0; i < kReceives; ++i) ASSERT_EQ(b.Receive(i, {b.Segment(64 * i, 64)}), 0);
  PollUntil([&] {
    if (posted < kMessages) {
      const int error = a.Send(b, posted, {a.Segment(0, 8)}, static_cast<std::uint32_t>(posted));
      EXPECT_TRUE(error == 0 || error == ENOMEM) << error;
      posted += error == 0 ? 1 : 0;
    }
    while (const std::optional<Entry> entry = Take(a.send_queue)) {
      EXPECT_EQ(entry->status, IBV_WC_SUCCESS);
      ++sent;
    }
    while (const std::optional<Entry> entry = TakePlain(b.receive_queue)) {
      ++received;
      immediates += entry->immediate;
      EXPECT_LT(entry->wr_id, kReceives);
      EXPECT_EQ(b.Receive(entry->wr_id, {b.Segment(64 * entry->wr_id, 64)}), 0);
    }
    return sent == kMessages && received == kMessages;
  });
  EXPECT_EQ(immediates, kMessages * (kMessages - 1) / 2);  // each of them once
}

TEST_F(TrafficTest, ADatagram) {
  const auto datagrams = [](End& end) {
    ibv_qp_init_attr_ex attr = QueuePairAttributes(end.domain, end.send_queue, end.receive_queue);
    attr.qp_type = IBV_QPT_UD;
    attr.send_ops_flags = IBV_QP_EX_WITH_SEND;
    ibv_qp* made = ibv_create_qp_ex(end.context, &attr);
    EXPECT_EQ(ibv_destroy_qp(end.queue_pair), 0);
    end.queue_pair = made;
    return made != nullptr && MakeReady(made) == 0;
  };
  ASSERT_TRUE(datagrams(a));
  ASSERT_TRUE(datagrams(b));
  Fill(std::span(a.memory).first(100), 4);
  ASSERT_EQ(b.Receive(1, {b.Segment(0, 139)}), 0);  // too short for the prefix of 40 bytes too
  ASSERT_EQ(a.Send(b, 2, {a.Segment(0, 100)}), 0);
  Sent(2);  // the sender is not told
  ASSERT_EQ(a.Send(b, 3, {a.Segment(0, 99)}), 0);
  std::optional<Entry> received;
  PollUntil([&] {
    if (Take(a.send_queue).has_value()) {
      EXPECT_EQ(a.Send(b, 3, {a.Segment(0, 99)}), 0);  // one may get lost
    }
    received = Take(b.receive_queue);
    return received.has_value();
  });
  EXPECT_EQ(received->status, IBV_WC_SUCCESS);
  EXPECT_EQ(received->byte_len, 139u);
  EXPECT_TRUE(Holds(Bytes(b, 40, 99), 4));
}

// ---- Writes and reads ----

TEST_F(TrafficTest, AWrite) {
  for (const std::uint32_t length : {0u, 1u, 4096u, 60000u}) {
    Fill(std::span(a.memory).first(length), length);
    std::fill(b.memory.begin(), b.memory.end(), std::byte{});
    ASSERT_EQ(a.Write(b, 5, length), 0);
    EXPECT_EQ(Sent(5).opcode, IBV_WC_RDMA_WRITE);
    EXPECT_TRUE(Holds(Bytes(b, 0, length), length)) << length;
    EXPECT_EQ(b.memory[length], std::byte{});
  }
  EXPECT_TRUE(b.Quiet());
}

TEST_F(TrafficTest, ARead) {
  for (const std::uint32_t length : {1u, 4096u, 60000u}) {
    Fill(std::span(b.memory).first(length), length);
    std::fill(a.memory.begin(), a.memory.end(), std::byte{});
    ASSERT_EQ(a.Read(b, 6, length), 0);
    Sent(6);
    EXPECT_TRUE(Holds(Bytes(a, 0, length), length)) << length;
    EXPECT_EQ(a.memory[length], std::byte{});
  }
  EXPECT_TRUE(b.Quiet());
}

TEST_F(TrafficTest, AWritesImmediateTakesAReceive) {
  Fill(std::span(a.memory).first(100), 9);
  ASSERT_EQ(b.Receive(77, {b.Segment(1000, 8)}), 0);
  ASSERT_EQ(a.Write(b, 5, 100, 0xabcdef01), 0);
  Sent(5);
  const Entry received = Await(b.receive_queue);
  EXPECT_EQ(received.wr_id, 77u);
  EXPECT_EQ(received.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
  EXPECT_EQ(received.flags, static_cast<unsigned>(IBV_WC_WITH_IMM));
  EXPECT_EQ(received.immediate, 0xabcdef01u);
  EXPECT_EQ(received.byte_len, 100u);
  EXPECT_FALSE(received.unsolicited);
  EXPECT_TRUE(Holds(Bytes(b, 0, 100), 9));
  // It is gone: the next one waits for another.
  ASSERT_EQ(a.Write(b, 6, 100, 2), 0);
  ASSERT_EQ(b.Receive(78, {b.Segment(1000, 8)}), 0);
  Sent(6);
  EXPECT_EQ(Await(b.receive_queue).wr_id, 78u);
}

TEST_F(TrafficTest, AWritesImmediateThatNobodyAskedFor) {
  End from({.nic = 0, .unsolicited = true});
  End open({.nic = 1, .unsolicited = true});
  open.HandleOf(from);
  ASSERT_EQ(open.Receive(77, {open.Segment(1000, 64)}), 0);
  ASSERT_EQ(from.Write(open, 5, 100, 0xabcdef01), 0);
  EXPECT_EQ(Await(from.send_queue).status, IBV_WC_SUCCESS);
  const Entry received = Await(open.receive_queue);
  EXPECT_TRUE(received.unsolicited);
  EXPECT_EQ(received.wr_id, 0u);
  EXPECT_EQ(received.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
  EXPECT_EQ(received.immediate, 0xabcdef01u);
  EXPECT_EQ(received.byte_len, 100u);
  // The receive is still there, for a message.
  ASSERT_EQ(a.Send(open, 6, {a.Segment(0, 8)}), 0);
  Sent(6);
  const Entry message = Await(open.receive_queue);
  EXPECT_EQ(message.wr_id, 77u);
  EXPECT_FALSE(message.unsolicited);
}

TEST_F(TrafficTest, AWritesImmediateToAQueuePairThatDiffersIsRefused) {
  End open({.nic = 1, .unsolicited = true});
  open.HandleOf(a);
  ASSERT_EQ(a.Write(open, 5, 100, 0xabcdef01), 0);
  const Entry refused = Await(a.send_queue);
  EXPECT_EQ(refused.status, IBV_WC_REM_INV_REQ_ERR);
  EXPECT_EQ(refused.vendor_error, 18u);
}

// ---- Polling ----

TEST_F(TrafficTest, BothWaysToPollTellTheSame) {
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(b.Receive(5, {b.Segment(0, 64)}), 0);
    ASSERT_EQ(a.Send(b, 6, {a.Segment(0, 60)}, 0x01020304), 0);
  }
  Sent(6);
  Sent(6);
  const Entry one = Await(b.receive_queue);
  const Entry other = TakePlain(b.receive_queue).value_or(Entry{});
  EXPECT_EQ(one.wr_id, 5u);
  EXPECT_EQ(one.wr_id, other.wr_id);
  EXPECT_EQ(one.status, other.status);
  EXPECT_EQ(one.opcode, other.opcode);
  EXPECT_EQ(one.vendor_error, other.vendor_error);
  EXPECT_EQ(one.byte_len, 60u);
  EXPECT_EQ(one.byte_len, other.byte_len);
  EXPECT_EQ(one.immediate, 0x01020304u);
  EXPECT_EQ(one.immediate, other.immediate);
  EXPECT_EQ(one.queue_pair, other.queue_pair);
  EXPECT_EQ(one.source_queue_pair, other.source_queue_pair);
  EXPECT_EQ(one.source_handle, other.source_handle);
  EXPECT_EQ(one.flags, other.flags);
}

TEST_F(TrafficTest, SeveralInOnePoll) {
  Deliver(5);
  ibv_cq* queue = ibv_cq_ex_to_cq(b.receive_queue);
  std::vector<ibv_wc> entries(10);
  EXPECT_EQ(ibv_poll_cq(queue, 0, entries.data()), 0);
  EXPECT_EQ(ibv_poll_cq(queue, 3, entries.data()), 3);
  EXPECT_EQ(ibv_poll_cq(queue, 10, entries.data() + 3), 2);
  EXPECT_EQ(ibv_poll_cq(queue, 10, entries.data() + 5), 0);
  std::set<std::uint64_t> seen;
  for (std::size_t i = 0; i < 5; ++i) seen.insert(entries[i].wr_id);
  EXPECT_EQ(seen, (std::set<std::uint64_t>{100, 101, 102, 103, 104}));
}

TEST_F(TrafficTest, FromStartToEnd) {
  ibv_poll_cq_attr attr{};
  EXPECT_EQ(ibv_start_poll(b.receive_queue, &attr), ENOENT);
  Deliver(3);
  attr.comp_mask = 1;
  EXPECT_EQ(ibv_start_poll(b.receive_queue, &attr), EINVAL);
  attr.comp_mask = 0;
  ASSERT_EQ(ibv_start_poll(b.receive_queue, &attr), 0);
  std::set<std::uint64_t> seen = {b.receive_queue->wr_id};
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(ibv_next_poll(b.receive_queue), 0);
    EXPECT_EQ(b.receive_queue->status, IBV_WC_SUCCESS);
    seen.insert(b.receive_queue->wr_id);
  }
  EXPECT_EQ(ibv_next_poll(b.receive_queue), ENOENT);
  ibv_end_poll(b.receive_queue);
  EXPECT_EQ(seen, (std::set<std::uint64_t>{100, 101, 102}));
  EXPECT_EQ(ibv_start_poll(b.receive_queue, &attr), ENOENT);
}

TEST_F(TrafficTest, WhoASenderIs) {
  b.Forget(a);
  Deliver(1);
  const Entry stranger = Await(b.receive_queue);
  EXPECT_EQ(stranger.source_handle, 0xffffu);
  ASSERT_TRUE(stranger.source_gid.has_value());
  EXPECT_EQ(std::memcmp(stranger.source_gid->raw, a.gid.raw, sizeof a.gid.raw), 0);
  EXPECT_EQ(stranger.source_queue_pair, a.queue_pair->qp_num);

  ibv_ah* handle = b.HandleOf(a);
  Deliver(1);
  const Entry known = Await(b.receive_queue);
  EXPECT_EQ(known.source_handle, End::NumberOf(handle));
  EXPECT_FALSE(known.source_gid.has_value());
}

TEST_F(TrafficTest, AQueueThatWasNotMadeToTellSenders) {
  ibv_cq_init_attr_ex attr{};
  attr.cqe = 16;
  attr.wc_flags = IBV_WC_STANDARD_FLAGS;
  efadv_cq_init_attr efa{};
  ibv_cq_ex* plain = efadv_create_cq(b.context, &attr, &efa, sizeof efa);
  ASSERT_NE(plain, nullptr);
  ibv_qp* second = MakeQueuePair(b.context, QueuePairAttributes(b.domain, b.send_queue, plain));
  ASSERT_NE(second, nullptr);
  ASSERT_EQ(MakeReady(second), 0);
  b.Forget(a);
  std::swap(b.queue_pair, second);
  ASSERT_EQ(b.Receive(1, {b.Segment(0, 64)}), 0);
  ASSERT_EQ(a.Send(b, 2, {a.Segment(0, 8)}), 0);
  Sent(2);
  const Entry stranger = Await(plain);
  EXPECT_EQ(stranger.source_handle, 0xffffu);
  EXPECT_FALSE(stranger.source_gid.has_value());
  std::swap(b.queue_pair, second);
  EXPECT_EQ(ibv_destroy_qp(second), 0);
  EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(plain)), 0);
}

// ---- Queues that several have ----

TEST_F(TrafficTest, AQueuePairTakesItsCompletionsWithIt) {
  ibv_qp* second =
      MakeQueuePair(b.context, QueuePairAttributes(b.domain, b.send_queue, b.receive_queue));
  ASSERT_NE(second, nullptr);
  ASSERT_EQ(MakeReady(second), 0);
  for (std::uint64_t i = 0; i < 6; ++i) {  // of both, mixed
    ASSERT_EQ(b.Receive(100 + i, {b.Segment(0, 64)}), 0);
    ASSERT_EQ(a.Send(b, i, {a.Segment(0, 8)}), 0);
    Sent(i);
    std::swap(b.queue_pair, second);
  }
  ASSERT_EQ(ibv_destroy_qp(second), 0);  // has had 101, 103 and 105
  for (const std::uint64_t wr_id : {100u, 102u, 104u}) {
    const std::optional<Entry> entry = Take(b.receive_queue);
    ASSERT_TRUE(entry.has_value()) << wr_id;
    EXPECT_EQ(entry->wr_id, wr_id);
    EXPECT_EQ(entry->queue_pair, b.queue_pair->qp_num);
  }
  EXPECT_TRUE(b.Quiet());
  Deliver(1);
  EXPECT_EQ(Await(b.receive_queue).wr_id, 100u);
}

// The slot of a request is free when its completion was read, whatever happens to other queue pairs.
TEST_F(TrafficTest, AQueuePairThatGoesFreesNoSlotsOfOthers) {
  ibv_qp* second =
      MakeQueuePair(a.context, QueuePairAttributes(a.domain, a.send_queue, a.receive_queue));
  ASSERT_NE(second, nullptr);
  std::uint64_t posted = 0;
  while (a.Send(b, posted, {a.Segment(0, 8)}) == 0) {
    ASSERT_EQ(b.Receive(posted, {b.Segment(0, 64)}), 0);
    EXPECT_EQ(Await(b.receive_queue).status, IBV_WC_SUCCESS);
    ++posted;
  }
  // The last message's answer, and its completion with it, is on its way or there.
  ASSERT_EQ(ibv_destroy_qp(second), 0);
  EXPECT_EQ(a.Send(b, posted, {a.Segment(0, 8)}), ENOMEM);
  for (std::uint64_t i = 0; i < posted; ++i) EXPECT_EQ(Await(a.send_queue).wr_id, i);
  ASSERT_EQ(b.Receive(posted, {b.Segment(0, 64)}), 0);
  EXPECT_EQ(a.Send(b, posted, {a.Segment(0, 8)}), 0);
  Sent(posted);
}

TEST_F(TrafficTest, ANewQueuePairGetsNothingOfTheOldOnes) {
  Deliver(2);
  const std::uint32_t number = b.queue_pair->qp_num;
  ASSERT_EQ(ibv_destroy_qp(b.queue_pair), 0);
  b.queue_pair =
      MakeQueuePair(b.context, QueuePairAttributes(b.domain, b.send_queue, b.receive_queue));
  ASSERT_NE(b.queue_pair, nullptr);
  ASSERT_EQ(MakeReady(b.queue_pair), 0);
  EXPECT_EQ(b.queue_pair->qp_num, number);  // so that there could be a mistake
  EXPECT_TRUE(b.Quiet());
  Deliver(1);
  EXPECT_EQ(Await(b.receive_queue).wr_id, 100u);
}

TEST_F(TrafficTest, AQueueThatIsTooShort) {
  End shallow({.nic = 1, .queue_entries = 4});
  const auto arrive = [&](std::uint64_t i) {
    ASSERT_EQ(shallow.Receive(i, {shallow.Segment(64 * i, 64)}), 0);
    ASSERT_EQ(a.Send(shallow, i, {a.Segment(0, 8)}), 0);
    Sent(i);
  };
  for (std::uint64_t i = 0; i < 8; ++i) arrive(i);
  EXPECT_TRUE(
      shallow.Quiet());  // four are overwritten, and the others have the phase of a lap later
  arrive(8);
  EXPECT_EQ(Await(shallow.receive_queue).wr_id, 8u);
}

}  // namespace
}  // namespace drydock::sim_testing
