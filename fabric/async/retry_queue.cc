#include "drydock/fabric/async/retry_queue.h"

#include <algorithm>

namespace drydock::fabric::async {
namespace {

coro::Duration AtLeastOne(coro::Duration wait) { return std::max(wait, coro::Duration(1)); }

}  // namespace

RetryQueue::RetryQueue(CompletionDispatcher& dispatcher, const BackoffOptions& options)
    : TimerNode(&RetryQueue::OnTimer),
      dispatcher_(dispatcher),
      options_{.first = AtLeastOne(options.first), .most = AtLeastOne(options.most)},
      wait_(options_.first) {
  dispatcher_.AddRoomListener(*this);
}

void RetryQueue::Add(PendingOperation& operation) {
  if (pending_.empty()) {
    // Those that waited before may all have left unposted, by their deadlines: their wait, and the
    // timer that they left armed, are not this one's.
    Cancel();
    wait_ = options_.first;
  }
  pending_.PushBack(operation);
  // The next turn of the loop polls first, and fires this timer then.
  if (!armed()) dispatcher_.loop().timers().Arm(*this, dispatcher_.loop().Now());
}

void RetryQueue::OnTimer(coro::TimerNode& timer) { static_cast<RetryQueue&>(timer).Drain(); }

void RetryQueue::OnRoom() {
  wait_ = options_.first;
  Drain();
}

void RetryQueue::Drain() {
  Cancel();
  while (PendingOperation* operation = pending_.front()) {
    const ErrorCode error = operation->TryPost();
    if (error == ErrorCode::kAgain) {
      dispatcher_.loop().timers().Arm(*this, coro::After(dispatcher_.loop().Now(), wait_));
      // Half is compared, since twice a long wait may be no Duration.
      wait_ = wait_ > options_.most / 2 ? options_.most : 2 * wait_;
      return;
    }
    wait_ = options_.first;
    operation->Unlink();
    operation->Posted(error);
  }
}

}  // namespace drydock::fabric::async
