// An array of zeros that takes memory only where it is used: rings are made for the worst case, and
// most of a large one is never written.

#ifndef SIM_MEMORY_ZEROED_ARRAY_H_
#define SIM_MEMORY_ZEROED_ARRAY_H_

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <type_traits>

#include "coro/check.h"

namespace sim {

// For types whose zero bytes are a valid value. Aligned to 16 bytes. Ends the program when there is
// no address space left.
template <typename T>
class ZeroedArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  ZeroedArray() = default;
  explicit ZeroedArray(std::size_t count) {
    if (count == 0) return;
    values_.reset(static_cast<T*>(std::calloc(count, sizeof(T))));
    DD_CHECK(values_ != nullptr, "no memory for a ring");
  }

  T* data() const { return values_.get(); }
  T& operator[](std::size_t index) const { return values_.get()[index]; }

 private:
  struct Free {
    void operator()(T* values) const { std::free(values); }
  };
  std::unique_ptr<T, Free> values_;
};

}  // namespace sim

#endif  // SIM_MEMORY_ZEROED_ARRAY_H_
