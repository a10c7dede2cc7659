// A counting semaphore: tasks take its permits and give them back.

#ifndef DRYDOCK_CORO_SEMAPHORE_H_
#define DRYDOCK_CORO_SEMAPHORE_H_

#include <cstddef>

#include "drydock/coro/task.h"
#include "drydock/coro/time.h"
#include "drydock/coro/wait_list.h"

namespace drydock::coro {

// First come, first served: no task overtakes a waiter. Not thread-safe, not movable. Outlives its
// waiters.
class Semaphore {
 public:
  explicit Semaphore(std::size_t permits) : permits_(permits) {}
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;

  // Permits that are neither held nor promised to a waiter.
  std::size_t available() const { return permits_ - waiters_.notified(); }

  // Takes a permit if that needs no waiting.
  bool TryAcquire() {
    if (available() == 0 || !waiters_.empty()) return false;
    --permits_;
    return true;
  }

  // Takes a permit; false when the deadline came first.
  Task<bool> Acquire(Time deadline = kNever) {
    if (TryAcquire()) co_return true;
    const bool promised = co_await waiters_.Wait(deadline);
    if (promised) --permits_;
    co_return promised;
  }

  // Gives a permit back; or adds one.
  void Release() {
    ++permits_;
    waiters_.NotifyOne();
  }

 private:
  std::size_t permits_;  // including those promised to a waiter that has not run yet
  WaitList waiters_{"a semaphore"};
};

}  // namespace drydock::coro

#endif  // DRYDOCK_CORO_SEMAPHORE_H_
