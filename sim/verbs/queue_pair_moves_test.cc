// The states of queue pairs: which moves there are, what they need, and what can be posted where.

#include <infiniband/verbs.h>

#include <cerrno>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "drydock/sim/verbs/testing/end.h"
#include "drydock/sim/verbs/testing/profile_in_use.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

class QueuePairMovesTest : public ::testing::Test {
 protected:
  End end_{{.ready = false}};
};

// The moves from RESET to each state that a program can bring about.
const std::vector<std::vector<ibv_qp_state>>& Ways() {
  static const auto& ways = *new std::vector<std::vector<ibv_qp_state>>{
      {},
      {IBV_QPS_INIT},
      {IBV_QPS_INIT, IBV_QPS_RTR},
      {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS},
      {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQD},
      {IBV_QPS_INIT, IBV_QPS_ERR},
  };
  return ways;
}

// linux-rdma drivers/infiniband/hw/efa/efa_verbs.c, srd_qp_state_table.
bool MayMove(ibv_qp_state from, ibv_qp_state to) {
  static const auto& table = *new std::set<std::pair<ibv_qp_state, ibv_qp_state>>{
      {IBV_QPS_RESET, IBV_QPS_RESET}, {IBV_QPS_RESET, IBV_QPS_INIT}, {IBV_QPS_INIT, IBV_QPS_RESET},
      {IBV_QPS_INIT, IBV_QPS_ERR},    {IBV_QPS_INIT, IBV_QPS_INIT},  {IBV_QPS_INIT, IBV_QPS_RTR},
      {IBV_QPS_RTR, IBV_QPS_RESET},   {IBV_QPS_RTR, IBV_QPS_ERR},    {IBV_QPS_RTR, IBV_QPS_RTS},
      {IBV_QPS_RTS, IBV_QPS_RESET},   {IBV_QPS_RTS, IBV_QPS_ERR},    {IBV_QPS_RTS, IBV_QPS_RTS},
      {IBV_QPS_RTS, IBV_QPS_SQD},     {IBV_QPS_SQD, IBV_QPS_RESET},  {IBV_QPS_SQD, IBV_QPS_ERR},
      {IBV_QPS_SQD, IBV_QPS_RTS},     {IBV_QPS_SQD, IBV_QPS_SQD},    {IBV_QPS_ERR, IBV_QPS_RESET},
      {IBV_QPS_ERR, IBV_QPS_ERR},
  };
  return table.contains({from, to});
}

TEST_F(QueuePairMovesTest, EveryMoveFromEveryState) {
  for (const std::vector<ibv_qp_state>& way : Ways()) {
    for (const ibv_qp_state to : {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS,
                                  IBV_QPS_SQD, IBV_QPS_SQE, IBV_QPS_ERR}) {
      ibv_qp* made = MakeQueuePair(
          end_.context, QueuePairAttributes(end_.domain, end_.send_queue, end_.receive_queue));
      ASSERT_NE(made, nullptr);
      for (const ibv_qp_state state : way) ASSERT_EQ(Move(made, state), 0);
      const ibv_qp_state from = made->state;
      const bool legal = MayMove(from, to);
      EXPECT_EQ(Move(made, to), legal ? 0 : EINVAL) << from << " to " << to;
      EXPECT_EQ(made->state, legal ? to : from) << from << " to " << to;
      EXPECT_EQ(ibv_destroy_qp(made), 0);
    }
  }
}

TEST_F(QueuePairMovesTest, WhatAMoveNeeds) {
  ibv_qp_attr attr{};
  attr.port_num = 1;
  attr.qp_state = IBV_QPS_INIT;
  constexpr int kAll = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
  for (const int missing : {IBV_QP_PKEY_INDEX, IBV_QP_PORT, IBV_QP_QKEY}) {
    EXPECT_EQ(ibv_modify_qp(end_.queue_pair, &attr, kAll & ~missing), EINVAL) << missing;
  }
  ASSERT_EQ(Move(end_.queue_pair, IBV_QPS_INIT), 0);
  ASSERT_EQ(Move(end_.queue_pair, IBV_QPS_RTR), 0);
  attr.qp_state = IBV_QPS_RTS;
  EXPECT_EQ(ibv_modify_qp(end_.queue_pair, &attr, IBV_QP_STATE), EINVAL);
  EXPECT_EQ(Move(end_.queue_pair, IBV_QPS_RTS), 0);
}

// Each move takes its own attributes and no others. A call without a state is a move to the same.
TEST_F(QueuePairMovesTest, WhatAMoveDoesNotTake) {
  ibv_qp* const pair = end_.queue_pair;
  ibv_qp_attr attr{};
  attr.port_num = 1;
  attr.qkey = End::kQkey;
  const auto modify = [&](ibv_qp_state to, int mask) {
    attr.qp_state = to;
    attr.cur_qp_state = pair->state;
    return ibv_modify_qp(pair, &attr, mask | IBV_QP_STATE);
  };
  constexpr int kIdentity = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
  // What other kinds of queue pairs have.
  for (const int other : {IBV_QP_ACCESS_FLAGS, IBV_QP_AV, IBV_QP_DEST_QPN, IBV_QP_TIMEOUT}) {
    EXPECT_EQ(modify(IBV_QPS_INIT, kIdentity | other), EOPNOTSUPP) << other;
  }
  attr.port_num = 2;
  EXPECT_EQ(modify(IBV_QPS_INIT, kIdentity), EINVAL);
  attr.port_num = 1;
  attr.pkey_index = 1;
  EXPECT_EQ(modify(IBV_QPS_INIT, kIdentity), EOPNOTSUPP);
  attr.pkey_index = 0;
  EXPECT_EQ(modify(IBV_QPS_INIT, kIdentity | IBV_QP_SQ_PSN), EINVAL);
  ASSERT_EQ(modify(IBV_QPS_INIT, kIdentity), 0);
  EXPECT_EQ(ibv_modify_qp(pair, &attr, IBV_QP_QKEY), 0);
  EXPECT_EQ(modify(IBV_QPS_RTR, IBV_QP_RNR_RETRY), EINVAL);
  ASSERT_EQ(modify(IBV_QPS_RTR, IBV_QP_QKEY), 0);
  EXPECT_EQ(ibv_modify_qp(pair, &attr, IBV_QP_QKEY), EINVAL);
  EXPECT_EQ(modify(IBV_QPS_RTS, IBV_QP_SQ_PSN | IBV_QP_PORT), EINVAL);
  ASSERT_EQ(modify(IBV_QPS_RTS, IBV_QP_SQ_PSN | IBV_QP_CUR_STATE), 0);
  EXPECT_EQ(ibv_modify_qp(pair, &attr, IBV_QP_RNR_RETRY), EINVAL);
  attr.cur_qp_state = IBV_QPS_SQD;
  EXPECT_EQ(ibv_modify_qp(pair, &attr, IBV_QP_CUR_STATE | IBV_QP_QKEY), EINVAL);
  EXPECT_EQ(modify(IBV_QPS_ERR, IBV_QP_QKEY), EINVAL);
  EXPECT_EQ(pair->state, IBV_QPS_RTS);
}

// The retries are SRD's.
TEST_F(QueuePairMovesTest, ADatagramQueuePairHasNoRetries) {
  ibv_qp_init_attr attr{};
  attr.send_cq = ibv_cq_ex_to_cq(end_.send_queue);
  attr.recv_cq = ibv_cq_ex_to_cq(end_.receive_queue);
  attr.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1};
  attr.qp_type = IBV_QPT_UD;
  ibv_qp* datagram = ibv_create_qp(end_.domain, &attr);
  ASSERT_NE(datagram, nullptr);
  ASSERT_EQ(Move(datagram, IBV_QPS_INIT), 0);
  ASSERT_EQ(Move(datagram, IBV_QPS_RTR), 0);
  ibv_qp_attr to{};
  to.qp_state = IBV_QPS_RTS;
  EXPECT_EQ(ibv_modify_qp(datagram, &to, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_RNR_RETRY), EINVAL);
  EXPECT_EQ(Move(datagram, IBV_QPS_RTS), 0);
  EXPECT_EQ(ibv_destroy_qp(datagram), 0);
}

// The key of a queue pair may change while its work is under way: every request still completes.
TEST_F(QueuePairMovesTest, AKeyThatChangesLosesNoCompletion) {
  End sender({});
  End receiver({});
  ASSERT_EQ(receiver.Receive(1, {receiver.Segment(0, 64)}), 0);
  ASSERT_EQ(sender.Send(receiver, 2, {sender.Segment(0, 8)}), 0);
  ibv_qp_attr attr{};
  attr.qkey = End::kQkey + 1;
  ASSERT_EQ(ibv_modify_qp(sender.queue_pair, &attr, IBV_QP_QKEY), 0);
  const Entry sent = Await(sender.send_queue);
  EXPECT_EQ(sent.wr_id, 2u);
  EXPECT_EQ(sent.status, IBV_WC_SUCCESS);
  EXPECT_EQ(Await(receiver.receive_queue).wr_id, 1u);
}

// The receives of a queue pair that is not ready yet are there when it is.
TEST_F(QueuePairMovesTest, AReceiveThatWasPostedBeforeThePairWasReady) {
  End receiver({.ready = false});
  ASSERT_EQ(Move(receiver.queue_pair, IBV_QPS_INIT), 0);
  ASSERT_EQ(receiver.Receive(1, {receiver.Segment(0, 64)}), 0);
  EXPECT_FALSE(Take(receiver.receive_queue).has_value());
  ASSERT_EQ(Move(receiver.queue_pair, IBV_QPS_RTR), 0);
  End sender({});
  ASSERT_EQ(sender.Send(receiver, 2, {sender.Segment(0, 8)}), 0);
  EXPECT_EQ(Await(sender.send_queue).status, IBV_WC_SUCCESS);
  EXPECT_EQ(Await(receiver.receive_queue).wr_id, 1u);
  // In error, both what is there and what comes are flushed or refused.
  ASSERT_EQ(receiver.Receive(3, {receiver.Segment(0, 64)}), 0);
  ASSERT_EQ(Move(receiver.queue_pair, IBV_QPS_ERR), 0);
  EXPECT_EQ(Await(receiver.receive_queue).status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(receiver.Receive(4, {receiver.Segment(0, 64)}), EINVAL);
}

TEST_F(QueuePairMovesTest, WorkWaitsWhileASendQueueIsDrained) {
  End sender({});
  End receiver({});
  ASSERT_EQ(receiver.Receive(1, {receiver.Segment(0, 64)}), 0);
  ASSERT_EQ(Move(sender.queue_pair, IBV_QPS_SQD), 0);
  ASSERT_EQ(sender.Send(receiver, 2, {sender.Segment(0, 8)}), 0);
  // Peers still reach it, and their messages take longer than its own would.
  ASSERT_EQ(sender.Receive(3, {sender.Segment(0, 64)}), 0);
  ASSERT_EQ(receiver.Send(sender, 4, {receiver.Segment(0, 8)}), 0);
  EXPECT_EQ(Await(sender.receive_queue).wr_id, 3u);
  EXPECT_EQ(Await(receiver.send_queue).wr_id, 4u);
  EXPECT_TRUE(sender.Quiet());
  EXPECT_TRUE(receiver.Quiet());
  ASSERT_EQ(Move(sender.queue_pair, IBV_QPS_RTS), 0);
  EXPECT_EQ(Await(sender.send_queue).wr_id, 2u);
  EXPECT_EQ(Await(receiver.receive_queue).wr_id, 1u);
}

// Nothing of before is heard of again, and the rings are as those of a new queue pair.
TEST_F(QueuePairMovesTest, AQueuePairThatIsResetForgetsWhatWasPosted) {
  End sender({});
  End receiver({});
  ibv_qp_attr now{};
  ibv_qp_init_attr made{};
  ASSERT_EQ(ibv_query_qp(receiver.queue_pair, &now, IBV_QP_CAP, &made), 0);
  const std::uint64_t room = now.cap.max_recv_wr;
  for (int round = 0; round < 3; ++round) {
    std::uint64_t posted = 0;
    while (receiver.Receive(posted, {receiver.Segment(0, 64)}) == 0) ++posted;
    EXPECT_EQ(posted, room) << round;
    ASSERT_EQ(sender.Send(receiver, 2, {sender.Segment(0, 8)}), 0);
    EXPECT_EQ(Await(sender.send_queue).wr_id, 2u);  // its receive's completion is there, not read
    ASSERT_EQ(sender.Send(receiver, 3, {sender.Segment(0, 8)}), 0);
    for (End* end : {&sender, &receiver}) {
      ASSERT_EQ(Move(end->queue_pair, IBV_QPS_RESET), 0);
      EXPECT_TRUE(end->Quiet());
      ASSERT_EQ(MakeReady(end->queue_pair), 0);
    }
  }
  ASSERT_EQ(sender.Send(receiver, 5, {sender.Segment(0, 8)}), 0);
  EXPECT_TRUE(receiver.Quiet());  // no receive of before is there
  ASSERT_EQ(receiver.Receive(4, {receiver.Segment(0, 64)}), 0);
  EXPECT_EQ(Await(receiver.receive_queue).wr_id, 4u);
  EXPECT_EQ(Await(sender.send_queue).wr_id, 5u);
  EXPECT_TRUE(sender.Quiet());
}

TEST_F(QueuePairMovesTest, WhereWorkCanBePosted) {
  const std::set<ibv_qp_state> sends = {IBV_QPS_RTS, IBV_QPS_SQD};
  const std::set<ibv_qp_state> receives = {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQD};
  for (const std::vector<ibv_qp_state>& way : Ways()) {
    End end({.ready = false});
    for (const ibv_qp_state state : way) ASSERT_EQ(Move(end.queue_pair, state), 0);
    const ibv_qp_state state = end.queue_pair->state;
    EXPECT_EQ(end.Send(end, 1, {end.Segment(0, 8)}), sends.contains(state) ? 0 : EINVAL) << state;
    if (Device().rdma_write) {
      EXPECT_EQ(end.Write(end, 2, 8), sends.contains(state) ? 0 : EINVAL) << state;
    }
    EXPECT_EQ(end.Receive(3, {end.Segment(0, 8)}), receives.contains(state) ? 0 : EINVAL) << state;
  }
}

}  // namespace
}  // namespace drydock::sim_testing
