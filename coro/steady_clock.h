// The machine's monotonic clock: the only place in the project that reads it.

#ifndef CORO_STEADY_CLOCK_H_
#define CORO_STEADY_CLOCK_H_

#include "coro/clock.h"

namespace coro {

// Thread-safe: holds no state. Now() costs one clock_gettime(CLOCK_MONOTONIC), about 20 ns.
class SteadyClock final : public Clock {
 public:
  Time Now() const override;

  // Sleeps until `deadline`. kNever returns false: nobody could wake the sleeper.
  bool WaitUntil(Time deadline) override;

  bool IsVirtual() const override { return false; }
};

}  // namespace coro

#endif  // CORO_STEADY_CLOCK_H_
