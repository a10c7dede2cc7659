// Queue pairs that a program can and cannot make, and what it is told of them.

#include <infiniband/efadv.h>
#include <infiniband/verbs.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "drydock/sim/profile/profile.h"
#include "drydock/sim/verbs/newer_abi.h"
#include "drydock/sim/verbs/testing/end.h"
#include "drydock/sim/verbs/testing/many_objects.h"
#include "drydock/sim/verbs/testing/profile_in_use.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using sim::DeviceAttributes;

class QueuePairTest : public ::testing::Test {
 protected:
  End end_{{.ready = false}};
};

TEST_F(QueuePairTest, QueuePairsThatAreRefused) {
  const sim::Profile& profile = ProfileInUse();
  const DeviceAttributes& device = Device();
  const bool has_wide = device.inline_buf_size_ex > device.inline_buf_size;
  // A work request of 128 bytes takes the room of two.
  const auto longest_wide = static_cast<std::uint32_t>(sim::MaxSendQueueDepth(profile, 128));
  using Attr = ibv_qp_init_attr_ex;
  struct Case {
    const char* what;
    int error;
    std::function<void(Attr&, sim::verbs::QpInitAttr&, std::uint32_t&)> change;
  };
  const std::vector<Case> cases = {
      {"as it is", 0, [](auto&, auto&, auto&) {}},
      {"the longest queues", 0,
       [&](Attr& a, auto&, auto&) {
         a.cap.max_send_wr = static_cast<std::uint32_t>(sim::MaxSendQueueDepth(profile, 64));
         a.cap.max_recv_wr = device.max_rq_depth;
         a.cap.max_recv_sge = 1;
       }},
      {"sends", EINVAL,
       [&](Attr& a, auto&, auto&) { a.cap.max_send_wr = device.max_sq_depth + 1; }},
      {"as many wide sends as there can be", 0,
       [&](Attr& a, auto&, auto&) {
         a.cap.max_send_wr = longest_wide;
         a.cap.max_inline_data = static_cast<std::uint32_t>(sim::MaxInlineBytes(profile));
       }},
      {"more wide sends", has_wide ? EINVAL : 0,
       [&](Attr& a, auto&, auto&) {
         a.cap.max_send_wr = longest_wide + 1;
         a.cap.max_inline_data = static_cast<std::uint32_t>(sim::MaxInlineBytes(profile));
       }},
      {"inline writes", has_wide ? 0 : EOPNOTSUPP,
       [](Attr&, auto& efa, auto&) { efa.flags = sim::verbs::kQpInlineWrite; }},
      {"more inline writes", has_wide ? EINVAL : EOPNOTSUPP,
       [&](Attr& a, auto& efa, auto&) {
         efa.flags = sim::verbs::kQpInlineWrite;
         a.cap.max_send_wr = longest_wide + 1;
       }},
      {"receives", EINVAL,
       [&](Attr& a, auto&, auto&) {
         a.cap.max_recv_sge = 1;
         a.cap.max_recv_wr = device.max_rq_depth + 1;
       }},
      {"descriptors", EINVAL,
       [&](Attr& a, auto&, auto&) {
         a.cap.max_recv_sge = 2;
         a.cap.max_recv_wr = device.max_rq_depth / 2 + 1;
       }},
      {"segments of a send", EINVAL, [](Attr& a, auto&, auto&) { a.cap.max_send_sge = 3; }},
      {"segments of a receive", EINVAL, [](Attr& a, auto&, auto&) { a.cap.max_recv_sge = 4; }},
      {"inline bytes", EINVAL,
       [](Attr& a, auto&, auto&) {
         a.cap.max_inline_data =
             static_cast<std::uint32_t>(sim::MaxInlineBytes(ProfileInUse())) + 1;
       }},
      {"no domain", EINVAL, [](Attr& a, auto&, auto&) { a.pd = nullptr; }},
      {"no domain is named", EINVAL,
       [](Attr& a, auto&, auto&) { a.comp_mask = IBV_QP_INIT_ATTR_SEND_OPS_FLAGS; }},
      {"no queue for sends", EINVAL, [](Attr& a, auto&, auto&) { a.send_cq = nullptr; }},
      {"no queue for receives", EINVAL, [](Attr& a, auto&, auto&) { a.recv_cq = nullptr; }},
      {"another type", EINVAL, [](Attr& a, auto&, auto&) { a.qp_type = IBV_QPT_RC; }},
      {"atomics", EOPNOTSUPP,
       [](Attr& a, auto&, auto&) { a.send_ops_flags |= IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP; }},
      {"extensions", EOPNOTSUPP,
       [](Attr& a, auto&, auto&) { a.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS; }},
      {"another type of driver", EOPNOTSUPP,
       [](Attr&, auto& efa, auto&) { efa.driver_qp_type = 7; }},
      {"settings that nobody knows", EOPNOTSUPP, [](Attr&, auto& efa, auto&) { efa.wr_flags = 2; }},
      {"hints", 0,
       [](Attr&, auto& efa, auto&) { efa.wr_flags = sim::verbs::kWrWithProcessingHints; }},
      {"the structure before there were hints", 0,
       [](Attr&, auto& efa, auto& length) {
         efa.wr_flags = ~0ull;
         length = 16;
       }},
      {"flags that nobody knows", EOPNOTSUPP, [](Attr&, auto& efa, auto&) { efa.flags = 0x80; }},
      {"extensions of EFA", EINVAL, [](Attr&, auto& efa, auto&) { efa.comp_mask = 1; }},
      {"a byte that means nothing", EINVAL, [](Attr&, auto& efa, auto&) { efa.reserved[0] = 1; }},
      {"a structure that is too short", EINVAL, [](Attr&, auto&, auto& length) { length = 11; }},
      {"the shortest structure", 0, [](Attr&, auto&, auto& length) { length = 12; }},
  };
  for (const Case& test : cases) {
    Attr attr = QueuePairAttributes(end_.domain, end_.send_queue, end_.receive_queue);
    sim::verbs::QpInitAttr efa{};
    efa.driver_qp_type = EFADV_QP_DRIVER_TYPE_SRD;
    std::uint32_t length = sizeof efa;
    test.change(attr, efa, length);
    errno = 0;
    ibv_qp* made = efadv_create_qp_ex(end_.context, &attr,
                                      reinterpret_cast<efadv_qp_init_attr*>(&efa), length);
    EXPECT_EQ(made == nullptr ? errno : 0, test.error) << test.what;
    if (made != nullptr) {
      EXPECT_EQ(ibv_destroy_qp(made), 0);
    }
  }
}

// A program that was built against a later release has longer structures: fine as long as it asks
// for nothing with them.
TEST_F(QueuePairTest, StructuresOfLaterReleases) {
  for (const std::uint8_t last : {0, 1}) {
    alignas(8) std::array<std::uint8_t, 72> bytes{};
    bytes[64] = last;
    errno = 0;
    ibv_cq_init_attr_ex queue_attr{};
    queue_attr.cqe = 16;
    ibv_cq_ex* queue =
        efadv_create_cq(end_.context, &queue_attr,
                        reinterpret_cast<efadv_cq_init_attr*>(bytes.data()), bytes.size());
    EXPECT_EQ(queue == nullptr ? errno : 0, last == 0 ? 0 : EINVAL);
    errno = 0;
    ibv_qp_init_attr_ex attr =
        QueuePairAttributes(end_.domain, end_.send_queue, end_.receive_queue);
    ibv_qp* made = efadv_create_qp_ex(
        end_.context, &attr, reinterpret_cast<efadv_qp_init_attr*>(bytes.data()), bytes.size());
    EXPECT_EQ(made == nullptr ? errno : 0, last == 0 ? 0 : EINVAL);
    if (queue != nullptr) {
      EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(queue)), 0);
    }
    if (made != nullptr) {
      EXPECT_EQ(ibv_destroy_qp(made), 0);
    }
  }
}

TEST_F(QueuePairTest, WhatAQueuePairHas) {
  ibv_qp_init_attr_ex attr = QueuePairAttributes(end_.domain, end_.send_queue, end_.receive_queue,
                                                 {.sends = 1, .receives = 5, .inline_bytes = 1});
  attr.qp_context = this;
  efadv_qp_init_attr efa{};
  efa.driver_qp_type = EFADV_QP_DRIVER_TYPE_SRD;
  ibv_qp* made = efadv_create_qp_ex(end_.context, &attr, &efa, sizeof efa);
  ASSERT_NE(made, nullptr);
  // A program is told its sizes: at least those that it asked for.
  EXPECT_EQ(attr.cap.max_send_wr, Device().min_sq_depth);
  EXPECT_GE(attr.cap.max_recv_wr, 5u);
  // But for inline data, of which a request has room for more than the library takes.
  EXPECT_EQ(attr.cap.max_inline_data, 1u);
  EXPECT_EQ(made->state, IBV_QPS_RESET);
  ASSERT_EQ(MakeReady(made, /*rnr_retry=*/3), 0);
  ibv_qp_attr now{};
  ibv_qp_init_attr init{};
  ASSERT_EQ(ibv_query_qp(made, &now, IBV_QP_STATE, &init), 0);
  EXPECT_EQ(now.qp_state, IBV_QPS_RTS);
  EXPECT_EQ(now.qkey, End::kQkey);
  EXPECT_EQ(now.rnr_retry, 3);
  EXPECT_EQ(now.cap.max_send_wr, attr.cap.max_send_wr);
  EXPECT_EQ(init.qp_context, this);
  EXPECT_EQ(init.send_cq, attr.send_cq);
  EXPECT_EQ(ibv_query_qp(made, &now, IBV_QP_STATE | IBV_QP_AV, &init), EOPNOTSUPP);
  ASSERT_EQ(Move(made, IBV_QPS_RESET), 0);
  ASSERT_EQ(Move(made, IBV_QPS_INIT), 0);
  ASSERT_EQ(Move(made, IBV_QPS_RTR), 0);
  now.qp_state = IBV_QPS_RTS;
  now.sq_psn = 12345;
  ASSERT_EQ(ibv_modify_qp(made, &now, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
  ASSERT_EQ(ibv_query_qp(made, &now, IBV_QP_SQ_PSN, &init), 0);
  EXPECT_EQ(now.sq_psn, 12345u);
  EXPECT_EQ(ibv_destroy_qp(made), 0);
}

TEST_F(QueuePairTest, MoreRetriesThanThereAre) {
  EXPECT_EQ(MakeReady(end_.queue_pair, /*rnr_retry=*/8), EOPNOTSUPP);
  EXPECT_EQ(end_.queue_pair->state, IBV_QPS_RTR);
}

// A program has the functions that it asked for; the others are null, as in libefa.
TEST_F(QueuePairTest, FunctionsThatWereNotAskedFor) {
  ibv_cq_init_attr_ex queue_attr{};
  queue_attr.cqe = 16;
  queue_attr.wc_flags = IBV_WC_EX_WITH_BYTE_LEN;
  efadv_cq_init_attr efa{};
  ibv_cq_ex* queue = efadv_create_cq(end_.context, &queue_attr, &efa, sizeof efa);
  ASSERT_NE(queue, nullptr);
  EXPECT_NE(queue->read_opcode, nullptr);
  EXPECT_NE(queue->read_vendor_err, nullptr);
  EXPECT_NE(queue->read_wc_flags, nullptr);
  EXPECT_NE(queue->read_byte_len, nullptr);
  EXPECT_EQ(queue->read_imm_data, nullptr);
  EXPECT_EQ(queue->read_qp_num, nullptr);
  EXPECT_EQ(queue->read_src_qp, nullptr);
  EXPECT_EQ(queue->read_slid, nullptr);
  EXPECT_EQ(queue->read_sl, nullptr);
  EXPECT_EQ(queue->read_dlid_path_bits, nullptr);
  EXPECT_EQ(efadv_cq_from_ibv_cq_ex(queue)->wc_read_sgid, nullptr);
  EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(queue)), 0);

  EXPECT_EQ(ibv_qp_to_qp_ex(end_.queue_pair), end_.extended);
  ibv_qp_init_attr_ex attr = QueuePairAttributes(end_.domain, end_.send_queue, end_.receive_queue);
  attr.comp_mask = IBV_QP_INIT_ATTR_PD;
  ibv_qp* plain = MakeQueuePair(end_.context, attr);
  ASSERT_NE(plain, nullptr);
  EXPECT_EQ(ibv_qp_to_qp_ex(plain), nullptr);
  EXPECT_EQ(ibv_destroy_qp(plain), 0);
}

// Inline data of a request: as much as the program asked for when it made the queue pair.
TEST_F(QueuePairTest, InlineDataThatWasNotAskedFor) {
  End end({.inline_bytes = 8});
  ibv_sge segment = end.Segment(0, 9);
  ibv_send_wr request{};
  request.sg_list = &segment;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  request.send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED;
  request.wr.ud = {.ah = end.HandleOf(end), .remote_qpn = end.queue_pair->qp_num, .remote_qkey = 1};
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_send(end.queue_pair, &request, &bad), EINVAL);
  segment.length = 8;
  EXPECT_EQ(ibv_post_send(end.queue_pair, &request, &bad), 0);
}

TEST_F(QueuePairTest, TheOlderWaysToAQueuePair) {
  ibv_qp_init_attr attr{};
  attr.send_cq = ibv_cq_ex_to_cq(end_.send_queue);
  attr.recv_cq = ibv_cq_ex_to_cq(end_.receive_queue);
  attr.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1};
  attr.qp_type = IBV_QPT_DRIVER;
  ibv_qp* driver = efadv_create_driver_qp(end_.domain, &attr, EFADV_QP_DRIVER_TYPE_SRD);
  ASSERT_NE(driver, nullptr);
  EXPECT_EQ(attr.cap.max_send_wr, Device().min_sq_depth);
  EXPECT_EQ(ibv_destroy_qp(driver), 0);
  EXPECT_EQ(ibv_create_qp(end_.domain, &attr), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_DRIVER}) {
    auto extended = QueuePairAttributes(end_.domain, end_.send_queue, end_.receive_queue);
    extended.qp_type = type;
    errno = 0;
    EXPECT_EQ(ibv_create_qp_ex(end_.context, &extended), nullptr) << type;
    EXPECT_EQ(errno, EOPNOTSUPP) << type;
  }
  attr.qp_type = IBV_QPT_UD;
  ibv_qp* datagram = ibv_create_qp(end_.domain, &attr);
  ASSERT_NE(datagram, nullptr);
  EXPECT_EQ(ibv_destroy_qp(datagram), 0);
  EXPECT_EQ(efadv_create_driver_qp(end_.domain, &attr, EFADV_QP_DRIVER_TYPE_SRD), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(QueuePairTest, AllQueuePairs) {
  const std::size_t made = MakeMany<ibv_qp>(
      Device().max_qp + 1,
      [&] {
        return MakeQueuePair(end_.context,
                             QueuePairAttributes(end_.domain, end_.send_queue, end_.receive_queue));
      },
      ibv_destroy_qp);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(made, Device().max_qp - 1);
}

// NCCL takes its faster protocol where blocks of 128 bytes land in order.
TEST_F(QueuePairTest, WhatLandsInOrder) {
  using sim::verbs::kInOrderAligned128;
  const auto caps = [&](ibv_wr_opcode operation) {
    return ibv_query_qp_data_in_order(end_.queue_pair, operation, sim::verbs::kInOrderReturnCaps);
  };
  const int block = Device().data_polling_128 ? static_cast<int>(kInOrderAligned128) : 0;
  for (const ibv_wr_opcode operation : {IBV_WR_RDMA_WRITE, IBV_WR_SEND, IBV_WR_RDMA_READ}) {
    EXPECT_EQ(caps(operation), block) << operation;
  }
  EXPECT_EQ(ibv_query_qp_data_in_order(end_.queue_pair, IBV_WR_RDMA_WRITE, 0), 0);
}

}  // namespace
}  // namespace drydock::sim_testing
