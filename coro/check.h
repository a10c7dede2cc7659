// CHECK-style assertions for programmer errors, left on in every build.
//
// Bad input and failing operations are values (absl::Status, fabric::ErrorCode); a CHECK is for
// what only a bug in the calling code can cause, where going on would corrupt memory or hang.

#ifndef DRYDOCK_CORO_CHECK_H_
#define DRYDOCK_CORO_CHECK_H_

namespace drydock::coro::internal {

// Prints `file:line: message (condition)` to standard error and aborts.
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition,
                              const char* message) noexcept;

}  // namespace drydock::coro::internal

// Aborts with one line when `condition` is false. `message` says what the caller did wrong.
#define DD_CHECK(condition, message)                                                   \
  do {                                                                                 \
    if (!(condition)) [[unlikely]]                                                     \
      ::drydock::coro::internal::CheckFailed(__FILE__, __LINE__, #condition, message); \
  } while (false)

#endif  // DRYDOCK_CORO_CHECK_H_
