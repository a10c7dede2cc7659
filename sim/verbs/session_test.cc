// Requests that a program builds call by call, in a session of its queue pair.

#include <endian.h>
#include <infiniband/verbs.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "drydock/sim/verbs/newer_functions.h"
#include "drydock/sim/verbs/testing/end.h"
#include "drydock/sim/verbs/testing/two_ends.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

void Begin(End& end, std::uint64_t wr_id) {
  end.extended->wr_id = wr_id;
  end.extended->wr_flags = IBV_SEND_SIGNALED;
}
void Address(End& end, const End& peer) {
  ibv_wr_set_ud_addr(end.extended, end.HandleOf(peer), peer.queue_pair->qp_num, End::kQkey);
}
// Adds a message of 8 inline bytes.
void AddMessage(End& end, const End& peer, std::uint64_t wr_id) {
  Begin(end, wr_id);
  ibv_wr_send(end.extended);
  Address(end, peer);
  ibv_wr_set_inline_data(end.extended, end.at(0), 8);
}

TEST_F(TrafficTest, ASessionOfEverything) {
  Fill(std::span(a.memory).first(10000), 1);
  Fill(std::span(b.memory).subspan(20000, 1000), 2);
  ASSERT_EQ(b.Receive(100, {b.Segment(40000, 5000)}), 0);
  ASSERT_EQ(b.Receive(101, {b.Segment(50000, 5000)}), 0);
  ibv_qp_ex* ex = a.extended;
  ibv_wr_start(ex);
  Begin(a, 1);
  ibv_wr_send_imm(ex, htobe32(3000));
  const std::vector<ibv_sge> two = {a.Segment(0, 1000), a.Segment(1000, 2000)};
  ibv_wr_set_sge_list(ex, two.size(), two.data());
  Address(a, b);
  Begin(a, 2);
  ibv_wr_send_imm(ex, htobe32(20));
  Address(a, b);  // in any order
  const ibv_data_buf buffers[] = {{.addr = a.at(0), .length = 15}, {.addr = a.at(15), .length = 5}};
  ibv_wr_set_inline_data_list(ex, 2, buffers);
  Begin(a, 3);
  ibv_wr_rdma_write(ex, b.region->rkey, b.address(0));
  Address(a, b);
  ibv_wr_set_sge(ex, a.region->lkey, a.address(0), 10000);
  Begin(a, 4);
  ibv_wr_rdma_read(ex, b.region->rkey, b.address(20000));
  Address(a, b);
  ibv_wr_set_sge(ex, a.region->lkey, a.address(30000), 1000);
  ASSERT_EQ(ibv_wr_complete(ex), 0);

  std::set<std::uint64_t> ended;
  for (int i = 0; i < 4; ++i) {
    const Entry entry = Await(a.send_queue);
    EXPECT_EQ(entry.status, IBV_WC_SUCCESS) << entry.wr_id;
    ended.insert(entry.wr_id);
  }
  EXPECT_EQ(ended, (std::set<std::uint64_t>{1, 2, 3, 4}));
  EXPECT_TRUE(Holds(Bytes(b, 0, 10000), 1));
  EXPECT_TRUE(Holds(Bytes(a, 30000, 1000), 2));
  for (int i = 0; i < 2; ++i) {  // messages have no order
    const Entry received = Await(b.receive_queue);
    EXPECT_EQ(received.byte_len, received.immediate);
    const std::size_t offset = received.wr_id == 100 ? 40000 : 50000;
    EXPECT_TRUE(Holds(Bytes(b, offset, received.byte_len), 1));
  }
}

TEST_F(TrafficTest, AWriteWhoseBytesAreInTheRequest) {
  End wide({.inline_writes = true});
  wide.HandleOf(b);
  Fill(std::span(wide.memory).first(32), 9);
  const auto write = [&](End& end) {
    return end.Post(b, 1, [&](ibv_qp_ex* ex) {
      ibv_wr_rdma_write(ex, b.region->rkey, b.address(100));
      ibv_wr_set_inline_data(ex, end.at(0), 32);
    });
  };
  ASSERT_EQ(write(wide), 0);
  std::fill(wide.memory.begin(), wide.memory.end(), std::byte{0xff});
  EXPECT_EQ(Await(wide.send_queue).status, IBV_WC_SUCCESS);
  EXPECT_TRUE(Holds(Bytes(b, 100, 32), 9));
  EXPECT_EQ(write(a), EINVAL);  // 64 bytes have no room for it
  EXPECT_EQ(wide.Post(b, 2,
                      [&](ibv_qp_ex* ex) {
                        ibv_wr_rdma_read(ex, b.region->rkey, b.address(100));
                        ibv_wr_set_inline_data(ex, wide.at(0), 8);
                      }),
            EINVAL);
}

TEST_F(TrafficTest, InlineBytesThatAreSetAgainReplaceThoseOfBefore) {
  Fill(std::span(a.memory).first(30), 7);
  ASSERT_EQ(b.Receive(100, {b.Segment(0, 64)}), 0);
  ASSERT_EQ(a.Post(b, 1,
                   [&](ibv_qp_ex* ex) {
                     ibv_wr_send(ex);
                     ibv_wr_set_inline_data(ex, a.at(1000), 10);
                     ibv_wr_set_inline_data(ex, a.at(0), 30);
                   }),
            0);
  Sent(1);
  EXPECT_EQ(Await(b.receive_queue).byte_len, 30u);
  EXPECT_TRUE(Holds(Bytes(b, 0, 30), 7));
  // Those of a write by none.
  End wide({.inline_writes = true});
  wide.HandleOf(b);
  ASSERT_EQ(wide.Post(b, 2,
                      [&](ibv_qp_ex* ex) {
                        ibv_wr_rdma_write(ex, b.region->rkey, b.address(0));
                        ibv_wr_set_inline_data(ex, wide.at(0), 32);
                        ibv_wr_set_inline_data_list(ex, 0, nullptr);
                      }),
            0);
  EXPECT_EQ(Await(wide.send_queue).status, IBV_WC_SUCCESS);
  EXPECT_TRUE(Holds(Bytes(b, 0, 30), 7));
}

// As libfabric 2.6 does with every request.
TEST_F(TrafficTest, ARequestWithHints) {
  Fill(std::span(a.memory).first(64), 5);
  sim::verbs::QpFunctions* functions = sim::verbs::EfaFunctionsOf(a.extended);
  ASSERT_NE(functions, nullptr);
  EXPECT_EQ(functions->comp_mask, 0u);
  const auto write = [&](std::uint32_t hints) {
    return a.Post(b, 1, [&](ibv_qp_ex* ex) {
      ibv_wr_rdma_write(ex, b.region->rkey, b.address(0));
      functions->wr_set_processing_hints(functions, hints);
      ibv_wr_set_sge(ex, a.region->lkey, a.address(0), 64);
    });
  };
  EXPECT_EQ(write(2), EINVAL);  // an unknown hint
  ASSERT_EQ(write(sim::verbs::kHintBurstPpsSensitive), 0);
  Sent(1);
  EXPECT_TRUE(Holds(Bytes(b, 0, 64), 5));
  // Before a request there is nothing to set.
  ibv_wr_start(a.extended);
  functions->wr_set_processing_hints(functions, 0);
  EXPECT_EQ(ibv_wr_complete(a.extended), EINVAL);
}

TEST_F(TrafficTest, ASessionThatIsGivenUp) {
  ibv_wr_start(a.extended);
  AddMessage(a, b, 1);
  AddMessage(a, b, 2);
  ibv_wr_abort(a.extended);
  Deliver(1);  // the only message, and the first
  EXPECT_EQ(Await(b.receive_queue).wr_id, 100u);
  EXPECT_TRUE(a.Quiet());
  EXPECT_TRUE(b.Quiet());
  ibv_wr_start(a.extended);
  EXPECT_EQ(ibv_wr_complete(a.extended), 0);  // of nothing
}

TEST_F(TrafficTest, AnErrorInASessionDropsAllOfIt) {
  const std::map<std::string, std::function<void(ibv_qp_ex*)>> errors = {
      {"inline bytes",
       [&](ibv_qp_ex* ex) {
         ibv_wr_send(ex);
         ibv_wr_set_inline_data(ex, a.at(0), 33);
       }},
      {"inline bytes in pieces",
       [&](ibv_qp_ex* ex) {
         ibv_wr_send(ex);
         const ibv_data_buf buffers[] = {{.addr = a.at(0), .length = 20},
                                         {.addr = a.at(0), .length = 20}};
         ibv_wr_set_inline_data_list(ex, 2, buffers);
       }},
      {"segments of a message",
       [&](ibv_qp_ex* ex) {
         ibv_wr_send(ex);
         const std::vector<ibv_sge> three(3, a.Segment(0, 8));
         ibv_wr_set_sge_list(ex, 3, three.data());
       }},
      {"segments of a write",
       [&](ibv_qp_ex* ex) {
         ibv_wr_rdma_write(ex, b.region->rkey, b.address(0));
         const std::vector<ibv_sge> two(2, a.Segment(0, 8));
         ibv_wr_set_sge_list(ex, 2, two.data());
       }},
      {"no signal",
       [&](ibv_qp_ex* ex) {
         ex->wr_flags = 0;
         ibv_wr_send(ex);
         ibv_wr_set_sge(ex, a.region->lkey, a.address(0), 8);
       }},
      {"flags",
       [&](ibv_qp_ex* ex) {
         ex->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_SOLICITED;
         ibv_wr_send(ex);
         ibv_wr_set_sge(ex, a.region->lkey, a.address(0), 8);
       }},
  };
  for (const auto& [what, build] : errors) {
    for (const bool first : {true, false}) {
      ibv_wr_start(a.extended);
      if (!first) AddMessage(a, b, 1);
      Begin(a, 2);
      build(a.extended);
      Address(a, b);
      AddMessage(a, b, 3);
      EXPECT_EQ(ibv_wr_complete(a.extended), EINVAL) << what << ", " << first;
    }
  }
  ibv_wr_start(a.extended);
  ibv_wr_set_sge(a.extended, a.region->lkey, a.address(0), 8);  // of no request
  EXPECT_EQ(ibv_wr_complete(a.extended), EINVAL);

  Deliver(1);
  EXPECT_EQ(Await(b.receive_queue).wr_id, 100u);
  EXPECT_TRUE(a.Quiet());
  EXPECT_TRUE(b.Quiet());
}

TEST_F(TrafficTest, ASessionThatDoesNotFit) {
  const auto session = [&](std::uint64_t requests) {
    ibv_wr_start(a.extended);
    for (std::uint64_t i = 0; i < requests; ++i) AddMessage(a, b, i);
    return ibv_wr_complete(a.extended);
  };
  EXPECT_EQ(session(17), ENOMEM);
  EXPECT_EQ(session(10), 0);
  EXPECT_EQ(session(7), ENOMEM);
  EXPECT_EQ(session(6), 0);
  EXPECT_EQ(session(1), ENOMEM);
  for (std::uint64_t i = 0; i < 16; ++i) ASSERT_EQ(b.Receive(i, {b.Segment(64 * i, 64)}), 0);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(Await(a.send_queue).status, IBV_WC_SUCCESS);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(Await(b.receive_queue).byte_len, 8u);
  EXPECT_EQ(session(0), 0);
  EXPECT_TRUE(a.Quiet());
  EXPECT_TRUE(b.Quiet());
}

TEST_F(TrafficTest, SessionsOfSeveralThreads) {
  constexpr std::uint64_t kEach = 100;
  std::set<std::uint64_t> ended;
  const auto work = [&](std::uint64_t first) {
    for (std::uint64_t i = first; i < first + kEach; ++i) {
      PollUntil([&] {
        const int error = a.Write(b, i, 64);
        EXPECT_TRUE(error == 0 || error == ENOMEM) << error;
        return error == 0;
      });
    }
  };
  std::thread one(work, 0);
  std::thread other(work, kEach);
  PollUntil([&] {
    if (const std::optional<Entry> entry = Take(a.send_queue)) {
      EXPECT_EQ(entry->status, IBV_WC_SUCCESS);
      EXPECT_TRUE(ended.insert(entry->wr_id).second) << entry->wr_id;
    }
    return ended.size() == 2 * kEach;
  });
  one.join();
  other.join();
  EXPECT_EQ(*ended.rbegin(), 2 * kEach - 1);
}

}  // namespace
}  // namespace drydock::sim_testing
