// Polls that find nothing: when other threads get their turn.

#include <infiniband/verbs.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "drydock/sim/verbs/testing/end.h"
#include "gtest/gtest.h"

namespace {

thread_local int turns_given = 0;

}  // namespace

// In place of the C library's.
extern "C" int sched_yield() noexcept {
  ++turns_given;
  return static_cast<int>(syscall(SYS_sched_yield));
}

namespace drydock::sim_testing {
namespace {

// How often `polls` polls of an empty queue yield the CPU.
int TurnsGivenIn(int polls, ibv_cq_ex* queue) {
  const int before = turns_given;
  ibv_wc entry{};
  ibv_poll_cq_attr attr{};
  for (int i = 0; i < polls / 2; ++i) {
    EXPECT_EQ(ibv_poll_cq(ibv_cq_ex_to_cq(queue), 1, &entry), 0);
    EXPECT_EQ(ibv_start_poll(queue, &attr), ENOENT);
  }
  return turns_given - before;
}

TEST(PollingTest, OthersGetTheirTurnWhenNothingCameForAWhile) {
  End end({.nic = 0});
  EXPECT_EQ(TurnsGivenIn(60, end.receive_queue), 0);
  EXPECT_GE(TurnsGivenIn(60, end.receive_queue), 50);
  ASSERT_EQ(end.Receive(1, {end.Segment(0, 64)}), 0);
  ASSERT_EQ(end.Send(end, 2, {end.Segment(64, 8)}), 0);
  EXPECT_EQ(Await(end.send_queue).status, IBV_WC_SUCCESS);
  EXPECT_EQ(Await(end.receive_queue).status, IBV_WC_SUCCESS);
  EXPECT_EQ(TurnsGivenIn(60, end.receive_queue), 0);
}

}  // namespace
}  // namespace drydock::sim_testing
