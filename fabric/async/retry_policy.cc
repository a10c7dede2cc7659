#include "drydock/fabric/async/retry_policy.h"

#include <algorithm>

namespace drydock::fabric::async {

bool MayHaveHadEffect(ErrorCode code, OperationKind kind) {
  switch (code) {
    // Refused before anything left this machine.
    case ErrorCode::kAgain:
    case ErrorCode::kUnsupported:
    case ErrorCode::kClosed:
    case ErrorCode::kBusy:
    case ErrorCode::kNoMemory:
    // Refused as a whole by the peer's NIC.
    case ErrorCode::kFeatureMismatch:
      return false;
    // So is a message; of a write, the bytes are there before its immediate looks for a receive.
    case ErrorCode::kReceiverNotReady:
      return kind != OperationKind::kSend && kind != OperationKind::kTaggedSend;
    // The rest can come after some of the operation's packets were served: a region closes, a peer
    // restarts or forgets us while it is under way. A receive that is truncated is used up. And
    // providers that know only an errno say kInvalidArgument and kMessageTooLong of a peer's
    // answer.
    default:
      return true;
  }
}

RetryPolicy RetryPolicy::Transient(const RetryRule& rule) {
  RetryPolicy policy;
  for (const ErrorInfo& info : ErrorTable()) {
    if (IsRetryable(info.code)) policy.On({info.code}, rule);
  }
  return policy;
}

RetryPolicy& RetryPolicy::On(std::initializer_list<ErrorCode> codes, const RetryRule& rule) {
  for (const ErrorCode code : codes) rules_[static_cast<std::size_t>(code)] = rule;
  return *this;
}

std::optional<coro::Duration> RetryState::Next(ErrorCode error, OperationKind kind) {
  if (MayHaveHadEffect(error, kind) && !idempotent_) return std::nullopt;
  const RetryRule& rule = policy_.rule(error);
  std::uint32_t& granted = retries_[static_cast<std::size_t>(error)];
  if (granted == rule.retries) return std::nullopt;
  coro::Duration wait = rule.first_wait;
  for (std::uint32_t i = 0; i < granted && wait < rule.most_wait; ++i) {
    wait = wait > rule.most_wait / 2 ? rule.most_wait : 2 * wait;
  }
  ++granted;
  return std::min(wait, rule.most_wait);
}

}  // namespace drydock::fabric::async
