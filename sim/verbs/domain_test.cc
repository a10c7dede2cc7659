// Protection domains, and parent domains that stand for one.

#include <infiniband/verbs.h>

#include <cerrno>
#include <cstddef>

#include "drydock/sim/verbs/testing/end.h"
#include "drydock/sim/verbs/testing/many_objects.h"
#include "drydock/sim/verbs/testing/profile_in_use.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

// An int: the macros of verbs.h mix enumerations otherwise.
constexpr int kLocalWrite = IBV_ACCESS_LOCAL_WRITE;

class DomainTest : public ::testing::Test {
 protected:
  End end_{{.ready = false}};
};

TEST_F(DomainTest, AllProtectionDomains) {
  const std::size_t made = MakeMany<ibv_pd>(
      Device().max_pd + 1, [&] { return ibv_alloc_pd(end_.context); }, ibv_dealloc_pd);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(made, Device().max_pd - 1);
}

TEST_F(DomainTest, AProtectionDomainInUse) {
  ibv_pd* domain = ibv_alloc_pd(end_.context);
  ASSERT_NE(domain, nullptr);
  ibv_mr* region = ibv_reg_mr(domain, end_.at(0), 8, kLocalWrite);
  ASSERT_NE(region, nullptr);
  EXPECT_EQ(ibv_dealloc_pd(domain), EBUSY);
  EXPECT_EQ(ibv_dereg_mr(region), 0);

  ibv_ah_attr attr{};
  attr.is_global = 1;
  attr.port_num = 1;
  attr.grh.dgid = end_.gid;
  ibv_ah* handle = ibv_create_ah(domain, &attr);
  ASSERT_NE(handle, nullptr);
  EXPECT_EQ(ibv_dealloc_pd(domain), EBUSY);
  EXPECT_EQ(ibv_destroy_ah(handle), 0);

  ibv_qp* queue_pair =
      MakeQueuePair(end_.context, QueuePairAttributes(domain, end_.send_queue, end_.receive_queue));
  ASSERT_NE(queue_pair, nullptr);
  EXPECT_EQ(ibv_dealloc_pd(domain), EBUSY);
  EXPECT_EQ(ibv_destroy_qp(queue_pair), 0);
  EXPECT_EQ(ibv_dealloc_pd(domain), 0);
}

TEST_F(DomainTest, AParentDomainStandsForItsProtectionDomain) {
  ibv_td_init_attr thread_attr{};
  ibv_td* thread = ibv_alloc_td(end_.context, &thread_attr);
  ASSERT_NE(thread, nullptr);
  EXPECT_EQ(thread->context, end_.context);
  ibv_pd* protection = ibv_alloc_pd(end_.context);
  ibv_parent_domain_init_attr attr{};
  errno = 0;
  EXPECT_EQ(ibv_alloc_parent_domain(end_.context, &attr), nullptr);
  EXPECT_EQ(errno, EINVAL);
  attr.pd = protection;
  attr.td = thread;
  ibv_pd* parent = ibv_alloc_parent_domain(end_.context, &attr);
  ASSERT_NE(parent, nullptr);

  attr.pd = parent;
  errno = 0;
  EXPECT_EQ(ibv_alloc_parent_domain(end_.context, &attr), nullptr);
  EXPECT_EQ(errno, EINVAL);

  // Objects that are made with one can be used with those that are made with the other.
  ibv_mr* region = ibv_reg_mr(parent, end_.at(0), 64, kLocalWrite);
  ASSERT_NE(region, nullptr);
  ibv_cq_init_attr_ex queue_attr{};
  queue_attr.cqe = 16;
  queue_attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;
  queue_attr.parent_domain = parent;
  ibv_cq_ex* queue = ibv_create_cq_ex(end_.context, &queue_attr);
  ASSERT_NE(queue, nullptr);
  ibv_qp* queue_pair =
      MakeQueuePair(end_.context, QueuePairAttributes(parent, queue, end_.receive_queue));
  ASSERT_NE(queue_pair, nullptr);
  EXPECT_EQ(queue_pair->pd, parent);

  EXPECT_EQ(ibv_dealloc_td(thread), EBUSY);
  EXPECT_EQ(ibv_dealloc_pd(protection), EBUSY);
  EXPECT_EQ(ibv_dealloc_pd(parent), EBUSY);
  EXPECT_EQ(ibv_destroy_qp(queue_pair), 0);
  EXPECT_EQ(ibv_dereg_mr(region), 0);
  EXPECT_EQ(ibv_dealloc_pd(parent), EBUSY);  // the queue's
  EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(queue)), 0);
  EXPECT_EQ(ibv_dealloc_pd(parent), 0);
  EXPECT_EQ(ibv_dealloc_td(thread), 0);
  EXPECT_EQ(ibv_dealloc_pd(protection), 0);
}

TEST_F(DomainTest, ParentDomainsThatAreRefused) {
  ibv_parent_domain_init_attr attr{};
  attr.pd = end_.domain;
  attr.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS;
  errno = 0;
  EXPECT_EQ(ibv_alloc_parent_domain(end_.context, &attr), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  ibv_td_init_attr thread_attr{.comp_mask = 1};
  EXPECT_EQ(ibv_alloc_td(end_.context, &thread_attr), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

}  // namespace
}  // namespace drydock::sim_testing
