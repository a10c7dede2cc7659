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

// Around a call. `crowded`: another thread is in there.
class Visit {
 public:
  explicit Visit(OneThread& visited) : visited_(visited), in_(visited.Enter()) {}
  ~Visit() {
    if (in_) visited_.Leave();
  }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

  bool crowded() const { return !in_; }

 private:
  OneThread& visited_;
  const bool in_;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DEVICE_ONE_THREAD_H_
