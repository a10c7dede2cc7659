// The machine's monotonic clock: the only place in the project that reads it.

#ifndef DRYDOCK_CORO_STEADY_CLOCK_H_
#define DRYDOCK_CORO_STEADY_CLOCK_H_

#include "drydock/coro/clock.h"

namespace drydock::coro {

// Thread-safe: holds no state. Now() costs one clock_gettime(CLOCK_MONOTONIC), about 20 ns. All
// SteadyClocks of a machine show the same time, until it restarts.
class SteadyClock final : public Clock {
 public:
  Time Now() const override;

  // Blocks the thread until `deadline`; returns at once when that has passed. kNever returns false:
  // nothing could wake the sleeper.
  bool WaitUntil(Time deadline) override;

  bool IsVirtual() const override { return false; }
};

}  // namespace drydock::coro

#endif  // DRYDOCK_CORO_STEADY_CLOCK_H_
