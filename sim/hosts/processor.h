// A processor that a thread waits on, and that other threads may want.
//
// A thread that polls memory is the fastest to see a write, where it has a processor. Where
// programs that spin have them all, it gets its turn when one of them has used up its own,
// milliseconds later: yielding does not help, for the others do not sleep either. A thread that
// sleeps for a moment is scheduled as soon as it wakes up, because it has used so little.

#ifndef DRYDOCK_SIM_HOSTS_PROCESSOR_H_
#define DRYDOCK_SIM_HOSTS_PROCESSOR_H_

#include "drydock/coro/steady_clock.h"
#include "drydock/coro/time.h"

namespace drydock::sim {

// For one thread.
class Processor {
 public:
  // From now on the calling thread wakes up when it asked to, and takes short turns: it need not
  // wait for the end of another's. Where the kernel does not know that, nothing happens.
  static void TakeShortTurns();

  // Lets other threads run, and notes whether they kept the processor.
  void Yield();

  // Whether other threads wanted it lately: a thread that waits should sleep.
  bool crowded() const { return clock_.Now() < crowded_until_; }

 private:
  coro::SteadyClock clock_;
  coro::Time crowded_until_{};
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_PROCESSOR_H_
