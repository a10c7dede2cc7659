// The clock that a loop runs on. The code that creates the loop chooses it.
//
// Ownership: a clock outlives every loop that uses it. Threads: one clock belongs to one thread.
// Blocking: only WaitUntil may block.

#ifndef DRYDOCK_CORO_CLOCK_H_
#define DRYDOCK_CORO_CLOCK_H_

#include "drydock/coro/time.h"

namespace drydock::coro {

class Clock {
 public:
  virtual ~Clock() = default;

  // The current time; never decreases between two calls. Does not start at zero, so that a Time{}
  // left unset shows.
  virtual Time Now() const = 0;

  // Lets time pass when there is nothing else to do. Returns true at `deadline` or earlier
  // (something may have happened: look again), and false at once when nothing can ever happen, that
  // is when `deadline` is kNever and this clock knows of no event of its own.
  virtual bool WaitUntil(Time deadline) = 0;

  // True when time passes only through WaitUntil, so that an idle loop must call it instead of
  // polling on.
  virtual bool IsVirtual() const = 0;
};

}  // namespace drydock::coro

#endif  // DRYDOCK_CORO_CLOCK_H_
