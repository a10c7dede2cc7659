// A word in shared memory by which threads of any process wake one thread that sleeps.
//
// No wake-up is lost: a writer writes its message, then rings; the sleeper prepares, looks once
// more, then sleeps. All of it is sequentially consistent.

#ifndef DRYDOCK_SIM_HOSTS_BELL_H_
#define DRYDOCK_SIM_HOSTS_BELL_H_

#include <atomic>
#include <cstdint>

#include "drydock/coro/time.h"

namespace drydock::sim {

// A view of the word. One thread sleeps at a time.
class Bell {
 public:
  explicit Bell(std::atomic<std::uint32_t>& word) : word_(word) {}

  // --- For the sleeper ---
  // From now on Ring and Interrupt end the next Sleep.
  void Prepare() { word_.store(kAsleep, std::memory_order_seq_cst); }
  // The same, but only Interrupt does: another thread handles what Ring announces.
  void PrepareToDoze() { word_.store(kDozing, std::memory_order_seq_cst); }
  // There was something to do: no Sleep follows Prepare.
  void Stay() { word_.store(kAwake, std::memory_order_seq_cst); }
  // Until a thread rings, for `most` at the most (coro::Duration::max(): for ever); maybe shorter.
  void Sleep(coro::Duration most);

  // --- For all threads ---
  // Costs one load while no thread sleeps.
  void Ring();
  void Interrupt();
  bool asleep() const { return word_.load(std::memory_order_seq_cst) == kAsleep; }

 private:
  static constexpr std::uint32_t kAwake = 0;
  static constexpr std::uint32_t kAsleep = 1;
  static constexpr std::uint32_t kDozing = 2;

  void Wake();

  std::atomic<std::uint32_t>& word_;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_BELL_H_
