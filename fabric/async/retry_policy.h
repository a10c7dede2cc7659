// Which failures are worth another attempt, how often, and how long to wait before it.
//
//   RetryPolicy policy;
//   policy.On({ErrorCode::kReceiverNotReady}, {.retries = 5});
//   auto send = [&](coro::Time deadline) -> coro::Task<Completion> {
//     co_return co_await endpoint.Send(message, peer, {.deadline = deadline});
//   };
//   const Completion sent = co_await WithRetries(policy, send, {.deadline = deadline});
//
// Most failures leave open what happened: a peer that fell silent may have received everything and
// only failed to say so, and an operation whose deadline came may land yet. To issue such an
// operation again may do it twice. Only the program knows whether that does harm, so it has to say
// that the operation is idempotent; otherwise only operations that certainly had no effect are
// tried again. "Again" from a post is no failure: AsyncEndpoint deals with it.

#ifndef DRYDOCK_FABRIC_ASYNC_RETRY_POLICY_H_
#define DRYDOCK_FABRIC_ASYNC_RETRY_POLICY_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <type_traits>

#include "drydock/coro/event_loop.h"
#include "drydock/coro/sleep.h"
#include "drydock/coro/task.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/error.h"
#include "drydock/fabric/operation.h"

namespace drydock::fabric::async {

// Whether an operation of this kind that ended with this code may have moved bytes, taken a receive
// or announced itself, or may do so yet. False only where that is certain.
bool MayHaveHadEffect(ErrorCode code, OperationKind kind);

// The retries of one class of failures.
struct RetryRule {
  std::uint32_t retries = 0;  // attempts after the first that failed like this
  coro::Duration first_wait = std::chrono::microseconds(50);
  coro::Duration most_wait = std::chrono::milliseconds(10);  // each wait doubles up to this
};

// A rule for each code. A value.
class RetryPolicy {
 public:
  // Retries nothing.
  RetryPolicy() = default;

  // `rule` for every code that docs/errors.md calls worth retrying.
  static RetryPolicy Transient(const RetryRule& rule);

  RetryPolicy& On(std::initializer_list<ErrorCode> codes, const RetryRule& rule);

  const RetryRule& rule(ErrorCode code) const { return rules_[static_cast<std::size_t>(code)]; }

 private:
  std::array<RetryRule, kErrorCodeCount> rules_;
};
static_assert(std::is_trivially_destructible_v<RetryPolicy>);

struct RetryOptions {
  // The operation may take effect twice, or late, and all is well: such as a write of bytes that
  // stay the same, to where they are wanted until then.
  bool idempotent = false;
  // Of all attempts together, on the loop's clock: none begins after it.
  coro::Time deadline = coro::kNever;
};

// The attempts of one operation.
class RetryState {
 public:
  RetryState(const RetryPolicy& policy, bool idempotent)
      : policy_(policy), idempotent_(idempotent) {}

  // An attempt of an operation of this kind failed with `error`: how long to wait before the next
  // one; absent: this was the last.
  std::optional<coro::Duration> Next(ErrorCode error, OperationKind kind);

 private:
  const RetryPolicy policy_;
  const bool idempotent_;
  std::array<std::uint32_t, kErrorCodeCount> retries_{};  // that Next has granted
};

// Runs `attempt(deadline)`, a coro::Task<Completion>, until one succeeds or the policy gives up,
// and returns the last completion. `attempt` gives its operation the deadline, or an earlier one.
// It is an lvalue because it has to outlive this call (docs/coroutine-traps.md).
template <typename Attempt>
coro::Task<Completion> WithRetries(RetryPolicy policy, Attempt& attempt,
                                   RetryOptions options = {}) {
  RetryState state(policy, options.idempotent);
  for (;;) {
    const Completion done = co_await attempt(options.deadline);
    if (done.ok()) co_return done;
    const std::optional<coro::Duration> wait = state.Next(done.error, done.kind);
    const coro::Time now = coro::EventLoop::Current().Now();
    if (!wait.has_value() || coro::After(now, *wait) >= options.deadline) co_return done;
    co_await coro::Sleep(*wait);
  }
}

}  // namespace drydock::fabric::async

#endif  // DRYDOCK_FABRIC_ASYNC_RETRY_POLICY_H_
