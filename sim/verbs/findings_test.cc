// The findings of a process that is a machine many times. That each rule is found is shown by
// //testing/efa_run:findings_test.

#include "drydock/sim/verbs/findings.h"

#include <infiniband/verbs.h>

#include <thread>

#include "drydock/sim/verbs/machine.h"
#include "drydock/sim/verbs/objects.h"
#include "drydock/sim/verbs/testing/end.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using sim::verbs::Calling;
using sim::verbs::Context;
using sim::verbs::ContextOf;
using sim::verbs::Findings;
using sim::verbs::Machine;

Findings& FindingsOfProcess() { return *(*Machine::Get())->findings(); }

// Without a request that nobody rings for, nothing is wrong with it.
void UseADevice(bool rings) {
  End end;
  if (rings) return;
  ibv_ah* const handle = end.HandleOf(end);
  ibv_wr_start(end.extended);
  end.extended->wr_id = 1;
  end.extended->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_send(end.extended);
  ibv_wr_set_sge(end.extended, end.region->lkey, end.address(0), 8);
  ibv_wr_set_ud_addr(end.extended, handle, end.queue_pair->qp_num, End::kQkey);
}

TEST(FindingsTest, AMachineThatLeavesTakesNothingFromTheNextOne) {
  const auto come_and_go = [] {
    for (int i = 0; i < 200; ++i) {
      const End end;
      const Context& context = ContextOf(end.context);
      const Calling lock(context);
      ASSERT_EQ(FindingsOfProcess().watched(), context.host.get()) << i;
    }
  };
  std::thread other(come_and_go);
  come_and_go();
  other.join();
  UseADevice(/*rings=*/true);
  EXPECT_EQ(FindingsOfProcess().count(), 0u);
  UseADevice(/*rings=*/false);
  ASSERT_EQ(FindingsOfProcess().count(), 1u);
  EXPECT_EQ(FindingsOfProcess().first_check(), "work-not-rung-for");
}

}  // namespace
}  // namespace drydock::sim_testing
