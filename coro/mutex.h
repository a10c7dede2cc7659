// Mutual exclusion across suspension points. (Between two of them a coroutine is alone anyway.)
//
//   coro::Mutex::Guard guard = co_await mutex.Lock();

#ifndef DRYDOCK_CORO_MUTEX_H_
#define DRYDOCK_CORO_MUTEX_H_

#include <utility>

#include "drydock/coro/semaphore.h"
#include "drydock/coro/task.h"

namespace drydock::coro {

// First come, first served. Not recursive. Not thread-safe, not movable. Outlives its guards and
// waiters.
class Mutex {
 public:
  // Holds the mutex until it dies. Movable.
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

  bool locked() const { return free_.available() == 0; }

  Task<Guard> Lock() {
    co_await free_.Acquire();
    co_return Guard(*this);
  }

 private:
  Semaphore free_{1};
};

}  // namespace drydock::coro

#endif  // DRYDOCK_CORO_MUTEX_H_
