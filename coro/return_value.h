// Holds the value of a task until it is taken.

#ifndef DRYDOCK_CORO_RETURN_VALUE_H_
#define DRYDOCK_CORO_RETURN_VALUE_H_

#include <memory>
#include <type_traits>
#include <utility>

namespace drydock::coro::internal {

// The value that a task returns, from co_return on. T need not have a default constructor. A value
// that was not taken dies with its holder. For a T that needs no destructor, nothing records
// whether it is there.
template <typename T>
class ReturnValue {
 public:
  ReturnValue() {}
  ~ReturnValue() {
    if (set_) value_.~T();
  }
  // Constructs the value from `value`. Called once.
  template <typename U>
  void Set(U&& value) {
    std::construct_at(std::addressof(value_), std::forward<U>(value));
    set_ = true;
  }
  // The value, moved out. REQUIRES: Set was called; once.
  T Take() { return std::move(value_); }

 private:
  union {
    T value_;
  };
  bool set_ = false;
};

template <typename T>
requires std::is_trivially_destructible_v<T>
class ReturnValue<T> {
 public:
  ReturnValue() {}
  template <typename U>
  void Set(U&& value) {
    std::construct_at(std::addressof(value_), std::forward<U>(value));
  }
  T Take() { return std::move(value_); }

 private:
  union {
    T value_;
  };
};

}  // namespace drydock::coro::internal

#endif  // DRYDOCK_CORO_RETURN_VALUE_H_
