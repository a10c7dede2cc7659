#include "drydock/sim/hosts/processor.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <thread>

namespace drydock::sim {
namespace {

using namespace std::chrono_literals;

// Another thread had its turn in between: a kernel that only looks around takes microseconds.
constexpr coro::Duration kTurn = 200us;
// How long a crowded processor is remembered: trying again costs a turn of the other threads.
constexpr coro::Duration kMemory = 1s;
// Linux 6.12 takes this as an ordinary thread's slice (sched_runtime); earlier ones ignore it.
constexpr std::uint64_t kShortSlice = 100'000;

// struct sched_attr of linux/sched/types.h, first version: that header and glibc's sched.h cannot
// be included together everywhere.
struct SchedulingAttributes {
  std::uint32_t size;
  std::uint32_t policy;
  std::uint64_t flags;
  std::int32_t nice;
  std::uint32_t priority;
  std::uint64_t runtime;
  std::uint64_t deadline;
  std::uint64_t period;
};

}  // namespace

void Processor::TakeShortTurns() {
  prctl(PR_SET_TIMERSLACK, 1);
  SchedulingAttributes attributes{};
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
  if (attributes.policy != SCHED_OTHER) return;  // a policy was chosen
  attributes.size = sizeof attributes;
  attributes.runtime = kShortSlice;
  static_cast<void>(syscall(SYS_sched_setattr, 0, &attributes, 0));
}

void Processor::Yield() {
  const coro::Time before = clock_.Now();
  std::this_thread::yield();
  const coro::Time after = clock_.Now();
  if (after - before > kTurn) crowded_until_ = after + kMemory;
}

}  // namespace drydock::sim
