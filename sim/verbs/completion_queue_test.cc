// Completion queues that a program can and cannot make.

#include <infiniband/efadv.h>
#include <infiniband/verbs.h>

#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "drydock/sim/verbs/newer_abi.h"
#include "drydock/sim/verbs/testing/end.h"
#include "drydock/sim/verbs/testing/many_objects.h"
#include "drydock/sim/verbs/testing/profile_in_use.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

class CompletionQueueTest : public ::testing::Test {
 protected:
  End end_{{.ready = false}};
};

TEST_F(CompletionQueueTest, TheDepthOfACompletionQueue) {
  for (const std::uint32_t asked : {1u, 2u, 3u, 100u, Device().max_cq_depth}) {
    ibv_cq_ex* queue = MakeQueue(end_.context, asked);
    ASSERT_NE(queue, nullptr) << asked;
    EXPECT_EQ(queue->cqe, static_cast<int>(std::bit_ceil(asked)));
    EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(queue)), 0);
  }
  for (const std::uint32_t asked : {0u, Device().max_cq_depth + 1, UINT32_MAX}) {
    errno = 0;
    EXPECT_EQ(MakeQueue(end_.context, asked), nullptr) << asked;
    EXPECT_EQ(errno, EINVAL) << asked;
  }
}

TEST_F(CompletionQueueTest, CompletionQueuesThatAreRefused) {
  struct Case {
    const char* what;
    int error;
    std::function<void(ibv_cq_init_attr_ex&, efadv_cq_init_attr&, std::uint32_t&)> change;
  };
  const std::vector<Case> cases = {
      {"as it is", 0, [](auto&, auto&, auto&) {}},
      {"flags that nobody knows", EOPNOTSUPP,
       [](auto& attr, auto&, auto&) { attr.wc_flags = 1ull << 40; }},
      {"time stamps", EOPNOTSUPP,
       [](auto& attr, auto&, auto&) { attr.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP; }},
      {"members that nobody knows", EOPNOTSUPP,
       [](auto& attr, auto&, auto&) { attr.comp_mask = 1u << 7; }},
      {"one thread", 0,
       [](auto& attr, auto&, auto&) {
         attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
         attr.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
       }},
      {"entries that may be lost", EOPNOTSUPP,
       [](auto& attr, auto&, auto&) {
         attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
         attr.flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
       }},
      {"a domain that is no parent", EINVAL,
       [&](auto& attr, auto&, auto&) {
         attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;
         attr.parent_domain = end_.domain;
       }},
      {"flags of EFA that nobody knows", EOPNOTSUPP,
       [](auto&, auto& efa, auto&) { efa.wc_flags = 1ull << 5; }},
      {"unsolicited completions", Device().unsolicited_write_recv ? 0 : EOPNOTSUPP,
       [](auto&, auto& efa, auto&) { efa.wc_flags = sim::verbs::kCqWithIsUnsolicited; }},
      {"extensions of EFA", EINVAL, [](auto&, auto& efa, auto&) { efa.comp_mask = 1; }},
      {"a structure that is too short", EINVAL,  // the first release had a mask and flags
       [](auto&, auto&, auto& length) { length = 2 * sizeof(std::uint64_t) - 1; }},
      {"a vector that there is not, without a channel", EINVAL,
       [](auto& attr, auto&, auto&) { attr.comp_vector = 5000; }},
  };
  for (const Case& test : cases) {
    ibv_cq_init_attr_ex attr{};
    attr.cqe = 16;
    efadv_cq_init_attr efa{};
    std::uint32_t length = sizeof efa;
    test.change(attr, efa, length);
    errno = 0;
    ibv_cq_ex* queue = efadv_create_cq(end_.context, &attr, &efa, length);
    EXPECT_EQ(queue == nullptr ? errno : 0, test.error) << test.what;
    if (queue != nullptr) {
      EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(queue)), 0);
    }
  }
}

TEST_F(CompletionQueueTest, ACompletionQueueInUse) {
  EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(end_.send_queue)), EBUSY);
  EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(end_.receive_queue)), EBUSY);
  EXPECT_EQ(ibv_destroy_qp(end_.queue_pair), 0);
  end_.queue_pair = nullptr;
  EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(end_.send_queue)), 0);
  end_.send_queue = nullptr;
}

TEST_F(CompletionQueueTest, AllCompletionQueues) {
  const std::size_t made = MakeMany<ibv_cq>(
      Device().max_cq + 1, [&] { return ibv_create_cq(end_.context, 8, nullptr, nullptr, 0); },
      ibv_destroy_cq);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(made, Device().max_cq - 2);  // two are the end's own
}

}  // namespace
}  // namespace drydock::sim_testing
