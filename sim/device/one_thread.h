// Which thread is in an object that one thread uses at a time.

#ifndef DRYDOCK_SIM_DEVICE_ONE_THREAD_H_
#define DRYDOCK_SIM_DEVICE_ONE_THREAD_H_

#include <atomic>

namespace drydock::sim {

// Thread-safe. Does not keep a second thread out: it only detects it.
class OneThread {
 public:
  // The calling thread enters. False: another thread is inside, and nothing changes.
  bool Enter() {
    const char* inside = nullptr;
    return user_.compare_exchange_strong(inside, Me(), std::memory_order_relaxed) || inside == Me();
  }
  // The thread that was inside has left.
  void Leave() { user_.store(nullptr, std::memory_order_relaxed); }

 private:
  static const char* Me() {
    static thread_local char me;
    return &me;
  }

  std::atomic<const char*> user_{nullptr};
};

// The calling thread's stay in one object: from Enter to the end of this.
class Visit {
 public:
  Visit() = default;
  ~Visit() {
    if (inside_ != nullptr) inside_->Leave();
  }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

  // False: another thread is inside, and there is nothing to leave. REQUIRES: called once.
  bool Enter(OneThread& visited) {
    if (!visited.Enter()) return false;
    inside_ = &visited;
    return true;
  }

 private:
  OneThread* inside_ = nullptr;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DEVICE_ONE_THREAD_H_
