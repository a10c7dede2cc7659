// A bounded queue from one thread to one other, without a lock: how the program's thread hands work
// to a NIC's thread, and how it hears of it.

#ifndef DRYDOCK_FABRIC_ASYNC_TRANSFER_SPSC_RING_H_
#define DRYDOCK_FABRIC_ASYNC_TRANSFER_SPSC_RING_H_

#include <atomic>
#include <bit>
#include <cstddef>
#include <memory>
#include <type_traits>

namespace drydock::fabric::async::transfer {

// Of plain values. Each side remembers what it last saw of the other's position, so that it reads
// the other's cache line only when the ring looks full or empty. Both sides may be one thread.
template <typename T>
class SpscRing {
 public:
  static_assert(std::is_trivially_copyable_v<T>);

  // Room for `capacity` values or a few more.
  explicit SpscRing(std::size_t capacity)
      : mask_(std::bit_ceil(capacity < 2 ? std::size_t{2} : capacity) - 1),
        values_(new T[mask_ + 1]) {}
  SpscRing(const SpscRing&) = delete;
  SpscRing& operator=(const SpscRing&) = delete;

  // --- The producer's thread ---
  // False: the ring is full, and nothing happened.
  bool TryPush(const T& value) {
    const std::size_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - seen_head_ > mask_) {
      seen_head_ = head_.load(std::memory_order_acquire);
      if (tail - seen_head_ > mask_) return false;
    }
    values_[tail & mask_] = value;
    tail_.store(tail + 1, std::memory_order_release);
    return true;
  }
  // How many values there is room for, at least.
  std::size_t room() {
    seen_head_ = head_.load(std::memory_order_acquire);
    return mask_ + 1 - (tail_.load(std::memory_order_relaxed) - seen_head_);
  }

  // --- The consumer's thread ---
  // False: the ring is empty.
  bool TryPop(T& value) {
    const std::size_t head = head_.load(std::memory_order_relaxed);
    if (head == seen_tail_) {
      seen_tail_ = tail_.load(std::memory_order_acquire);
      if (head == seen_tail_) return false;
    }
    value = values_[head & mask_];
    head_.store(head + 1, std::memory_order_release);
    return true;
  }

 private:
  const std::size_t mask_;
  const std::unique_ptr<T[]> values_;
  alignas(64) std::atomic<std::size_t> head_{0};
  std::size_t seen_tail_ = 0;
  alignas(64) std::atomic<std::size_t> tail_{0};
  std::size_t seen_head_ = 0;
};

}  // namespace drydock::fabric::async::transfer

#endif  // DRYDOCK_FABRIC_ASYNC_TRANSFER_SPSC_RING_H_
