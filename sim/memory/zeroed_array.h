// An array of zeros that takes memory only where it is used: rings are made for the worst case, and
// most of a large one is never written.

#ifndef DRYDOCK_SIM_MEMORY_ZEROED_ARRAY_H_
#define DRYDOCK_SIM_MEMORY_ZEROED_ARRAY_H_

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>

#include "drydock/coro/check.h"
#include "drydock/sim/memory/poison.h"

namespace drydock::sim {

// For types whose zero bytes are a valid value. Aligned to 16 bytes. Ends the program when there is
// no address space left. Movable.
template <typename T>
class ZeroedArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  ZeroedArray() = default;
  explicit ZeroedArray(std::size_t count) : bytes_(count * sizeof(T)) {
    if (count == 0) return;
    // As `new` does: a program's handler makes room, or has its words for the end.
    while ((values_ = Allocate()) == nullptr) {
      const std::new_handler handler = std::get_new_handler();
      DD_CHECK(handler != nullptr, "no memory for a ring");
      handler();
    }
  }
  ZeroedArray(ZeroedArray&& other) noexcept
      : bytes_(std::exchange(other.bytes_, 0)), values_(std::exchange(other.values_, nullptr)) {}
  ZeroedArray& operator=(ZeroedArray&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(values_, other.values_);
    return *this;
  }
  ~ZeroedArray() {
    if (values_ == nullptr) return;
    if (mapped()) {
      munmap(values_, bytes_);
    } else {
      std::free(values_);
    }
  }

  T* data() const { return values_; }
  T& operator[](std::size_t index) const { return values_[index]; }

 private:
  // From here on pages come from the kernel: the allocator has pages that were used before, and
  // clears all that it hands out. But the sanitizer watches the allocator's only.
  static constexpr std::size_t kFewestMapped = std::size_t{1} << 15;
  bool mapped() const { return !kPoisons && bytes_ >= kFewestMapped; }

  // Null: there is no memory.
  T* Allocate() const {
    if (!mapped()) return static_cast<T*>(std::calloc(bytes_, 1));
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS;
    void* const memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, kFlags, -1, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<T*>(memory);
  }

  std::size_t bytes_ = 0;
  T* values_ = nullptr;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_MEMORY_ZEROED_ARRAY_H_
