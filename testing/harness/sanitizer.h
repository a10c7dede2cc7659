// What a test asks that depends on the process's own heap or signal handlers, to pass over builds
// in which both are a sanitizer's.
//
//   if (harness::kSanitized) GTEST_SKIP() << "a sanitizer has a heap of its own";

#ifndef DRYDOCK_TESTING_HARNESS_SANITIZER_H_
#define DRYDOCK_TESTING_HARNESS_SANITIZER_H_

namespace drydock::harness {

// Built with ThreadSanitizer, and with it or AddressSanitizer. GCC has macros, Clang features.
#if defined(__has_feature)
inline constexpr bool kThreadSanitized = __has_feature(thread_sanitizer);
inline constexpr bool kSanitized = kThreadSanitized || __has_feature(address_sanitizer);
#elif defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitized = true;
inline constexpr bool kSanitized = true;
#elif defined(__SANITIZE_ADDRESS__)
inline constexpr bool kThreadSanitized = false;
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kThreadSanitized = false;
inline constexpr bool kSanitized = false;
#endif

}  // namespace drydock::harness

#endif  // DRYDOCK_TESTING_HARNESS_SANITIZER_H_
