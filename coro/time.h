// Time as every layer sees it: nanoseconds on a clock that is injected, never read from the system.

#ifndef DRYDOCK_CORO_TIME_H_
#define DRYDOCK_CORO_TIME_H_

#include <chrono>

namespace drydock::coro {

// Signed nanoseconds. Written with the literals of <chrono>: 10ms, 250us.
using Duration = std::chrono::nanoseconds;

// The time base of a coro::Clock. It has no now(), on purpose: only an injected clock can tell the
// time.
struct InjectedTimeBase {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<InjectedTimeBase, Duration>;
  static constexpr bool is_steady = true;
};

// A point in time on the injected clock. Points of two different clocks must not be mixed.
using Time = InjectedTimeBase::time_point;

// Later than every time that comes: a deadline that never expires.
inline constexpr Time kNever = Time::max();

// `start + delay`, or kNever when that is too far in the future to be told apart. REQUIRES: delay
// >= 0.
constexpr Time After(Time start, Duration delay) {
  return delay >= kNever - start ? kNever : start + delay;
}

}  // namespace drydock::coro

#endif  // DRYDOCK_CORO_TIME_H_
