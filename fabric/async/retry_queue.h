// Operations that the endpoint did not take yet: posted again in their order, when there is room.

#ifndef DRYDOCK_FABRIC_ASYNC_RETRY_QUEUE_H_
#define DRYDOCK_FABRIC_ASYNC_RETRY_QUEUE_H_

#include <chrono>

#include "drydock/coro/intrusive_list.h"
#include "drydock/coro/time.h"
#include "drydock/coro/timer_queue.h"
#include "drydock/fabric/async/completion_dispatcher.h"
#include "drydock/fabric/error.h"

namespace drydock::fabric::async {

// An operation that can be posted. Leaves the queue by itself when it dies.
class PendingOperation : public coro::ListNode {
 public:
  // Posts once: kOk, kAgain (nothing happened; it stays in the queue), or why it never will.
  virtual ErrorCode TryPost() = 0;
  // TryPost answered something other than kAgain: the operation is out of the queue.
  virtual void Posted(ErrorCode error) = 0;

 protected:
  ~PendingOperation() = default;
};

// How long to wait between attempts when nothing makes room by itself. Less than a nanosecond
// counts as one: time has to pass, also on a clock that stands still while something can run.
struct BackoffOptions {
  coro::Duration first = std::chrono::microseconds(1);
  coro::Duration most = std::chrono::milliseconds(1);  // each attempt doubles the wait up to this
};

// "Again" means: read the completion queue, then retry, then wait longer each time. The loop reads
// its queues at the start of every turn, before any timer fires; so the first retry is a timer that
// is due at once, and the waits double from there. Completions make room, and every batch of them
// triggers an attempt without waiting; the timer is for causes that make no completion, such as a
// connection that is being set up. First in, first out: an operation never overtakes one of its
// queue that was refused before it. Bounded by the operations' own deadlines, not by a number of
// attempts.
class RetryQueue final : private RoomListener, private coro::TimerNode {
 public:
  RetryQueue(CompletionDispatcher& dispatcher, const BackoffOptions& options);
  RetryQueue(const RetryQueue&) = delete;
  RetryQueue& operator=(const RetryQueue&) = delete;

  bool empty() const { return pending_.empty(); }

  // Takes an operation that was answered kAgain, or that must wait behind one.
  void Add(PendingOperation& operation);

 private:
  void OnRoom() override;
  static void OnTimer(coro::TimerNode& timer);

  // Posts what can be posted; arms the timer if something is left.
  void Drain();

  CompletionDispatcher& dispatcher_;
  const BackoffOptions options_;
  coro::Duration wait_;
  coro::IntrusiveList<PendingOperation> pending_;
};

}  // namespace drydock::fabric::async

#endif  // DRYDOCK_FABRIC_ASYNC_RETRY_QUEUE_H_
