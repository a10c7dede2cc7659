// A counting semaphore: tasks take its permits and give them back.
//
//   coro::Semaphore room(64);  // requests in flight
//   const bool taken = co_await room.Acquire(deadline);
//   if (!taken) co_return absl::DeadlineExceededError("...");
//   const absl::Status status = co_await Request();
//   room.Release();
//
// A permit has no owner: a task that is destroyed does not give back the one that it took. The
// guard of a Mutex does, and so does Quota::Taken (fabric/async/quota.h).

#ifndef DRYDOCK_CORO_SEMAPHORE_H_
#define DRYDOCK_CORO_SEMAPHORE_H_

#include <cstddef>

#include "drydock/coro/task.h"
#include "drydock/coro/time.h"
#include "drydock/coro/wait_list.h"

namespace drydock::coro {

// First come, first served: no task overtakes a waiter. A waiter that is cancelled, even after a
// permit was promised to it, leaves that to the next one. Not thread-safe, not movable. Outlives
// its waiters.
class Semaphore {
 public:
  explicit Semaphore(std::size_t permits) : permits_(permits) {}
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;

  // Permits that are neither held nor promised to a waiter.
  std::size_t available() const { return permits_ - waiters_.notified(); }

  // Takes a permit if that needs no waiting; false, and nothing is taken, where none is available,
  // or others wait for one.
  bool TryAcquire() {
    if (available() == 0 || !waiters_.empty()) return false;
    --permits_;
    return true;
  }

  // Takes a permit; false, and nothing is taken, when `deadline` (on the loop's clock) came first.
  // A permit that is free is taken even if the deadline has passed.
  Task<bool> Acquire(Time deadline = kNever) {
    if (TryAcquire()) co_return true;
    const bool promised = co_await waiters_.Wait(deadline);
    if (promised) --permits_;
    co_return promised;
  }

  // Gives a permit back, or adds one: the waiter that came first is promised it, and becomes ready.
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
