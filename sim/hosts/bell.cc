#include "drydock/sim/hosts/bell.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace drydock::sim {
namespace {

// Not the private kind: the word is in memory of several processes.
long Futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* timeout) {
  return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, value, timeout,
                 nullptr, 0);
}

}  // namespace

void Bell::Sleep(coro::Duration most) {
  const std::uint32_t expected = word_.load(std::memory_order_seq_cst);
  if (expected == kAwake) return;
  timespec timeout{};
  if (most != coro::Duration::max()) {
    timeout.tv_sec = static_cast<time_t>(most.count() / 1'000'000'000);
    timeout.tv_nsec = static_cast<long>(most.count() % 1'000'000'000);
  }
  Futex(word_, FUTEX_WAIT, expected, most == coro::Duration::max() ? nullptr : &timeout);
  Stay();
}

void Bell::Ring() {
  if (word_.load(std::memory_order_seq_cst) == kAsleep) Wake();
}

void Bell::Interrupt() {
  if (word_.load(std::memory_order_seq_cst) != kAwake) Wake();
}

void Bell::Wake() {
  if (word_.exchange(kAwake, std::memory_order_seq_cst) == kAwake) return;
  Futex(word_, FUTEX_WAKE, INT_MAX, nullptr);
}

}  // namespace drydock::sim
