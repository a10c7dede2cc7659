// What a test asks that depends on the process's own heap or signal handlers, to pass over builds
// in which both are a sanitizer's.
//
//   if (harness::kSanitized) GTEST_SKIP() << "a sanitizer has a heap of its own";

#ifndef DRYDOCK_TESTING_HARNESS_SANITIZER_H_
#define DRYDOCK_TESTING_HARNESS_SANITIZER_H_

namespace drydock::harness {

// Built with AddressSanitizer or ThreadSanitizer.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)  // GCC
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
inline constexpr bool kSanitized =
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace drydock::harness

#endif  // DRYDOCK_TESTING_HARNESS_SANITIZER_H_
