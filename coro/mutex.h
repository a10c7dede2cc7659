// Mutual exclusion across suspension points. (Between two of them a coroutine is alone anyway.)
//
//   const coro::Mutex::Guard guard = co_await mutex.Lock();
//   CO_RETURN_IF_ERROR(co_await connection.Send(request));  // no other holder runs meanwhile
//   co_return co_await connection.Receive();
//
// For a wait with a deadline use a Semaphore of one permit.

#ifndef DRYDOCK_CORO_MUTEX_H_
#define DRYDOCK_CORO_MUTEX_H_

#include <utility>

#include "drydock/coro/semaphore.h"
#include "drydock/coro/task.h"

namespace drydock::coro {

// First come, first served. Not recursive: a task that locks it twice waits for ever. Not
// thread-safe, not movable. Outlives its guards and waiters.
class Mutex {
 public:
  // Holds the mutex until it dies, also where its coroutine is destroyed. Movable: the guard that
  // it was moved from holds nothing.
  class [[nodiscard]] Guard {
   public:
    explicit Guard(Mutex& mutex) : mutex_(&mutex) {}
    Guard(Guard&& other) noexcept : mutex_(std::exchange(other.mutex_, nullptr)) {}
    Guard& operator=(Guard&& other) noexcept {
      Guard old(std::move(*this));
      mutex_ = std::exchange(other.mutex_, nullptr);
      return *this;
    }
    ~Guard() {
      if (mutex_ != nullptr) mutex_->free_.Release();
    }

   private:
    Mutex* mutex_;
  };

  // A guard holds it, or a waiter that has not run yet will.
  bool locked() const { return free_.available() == 0; }

  // Waits until it is free. A task that is cancelled while it waits leaves the mutex to the next
  // one.
  Task<Guard> Lock() {
    co_await free_.Acquire();
    co_return Guard(*this);
  }

 private:
  Semaphore free_{1};
};

}  // namespace drydock::coro

#endif  // DRYDOCK_CORO_MUTEX_H_
