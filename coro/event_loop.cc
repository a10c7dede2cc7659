#include "coro/event_loop.h"

#include <algorithm>

#include "coro/check.h"

namespace coro {
namespace {

thread_local EventLoop* current_loop = nullptr;

}  // namespace

namespace internal {

absl::Status StuckError() {
  return absl::AbortedError(
      "event loop is stuck: its task waits for something that can never happen");
}

}  // namespace internal

EventLoop::~EventLoop() {
  DD_CHECK(selectors_.empty(), "a selector is still in the loop");
  DD_CHECK(ready_.empty() && timers_.empty(), "a coroutine still waits in the loop");
}

EventLoop& EventLoop::Current() {
  DD_CHECK(current_loop != nullptr, "no event loop runs on this thread");
  return *current_loop;
}

void EventLoop::AddSelector(Selector& selector) {
  DD_CHECK(std::find(selectors_.begin(), selectors_.end(), &selector) == selectors_.end(),
           "selector added twice");
  selectors_.push_back(&selector);
}

void EventLoop::RemoveSelector(Selector& selector) {
  const auto found = std::find(selectors_.begin(), selectors_.end(), &selector);
  DD_CHECK(found != selectors_.end(), "selector is not in this loop");
  selectors_.erase(found);
}

std::size_t EventLoop::Select() {
  std::size_t events = 0;
  for (Selector* selector : selectors_) events += selector->Poll(kPollBudget);
  now_ = clock_.Now();
  return events + timers_.FireDue(now_);
}

std::size_t EventLoop::RunOne() {
  IntrusiveList<WaitNode> batch;
  batch.Append(ready_);
  std::size_t resumed = 0;
  while (WaitNode* node = batch.PopFront()) {
    // The frame that holds `node` may be gone when resume() returns.
    node->handle.resume();
    ++resumed;
  }
  return resumed;
}

bool EventLoop::RunUntilDone(std::coroutine_handle<> root) {
  DD_CHECK(current_loop == nullptr, "Run is called from within a loop");
  current_loop = this;
  now_ = clock_.Now();
  root.resume();
  last_event_ = now_;
  while (!root.done()) {
    if (Select() + RunOne() > 0) {
      last_event_ = now_;
    } else if (!Idle()) {
      break;
    }
  }
  current_loop = nullptr;
  return root.done();
}

bool EventLoop::Idle() {
  const Time deadline = timers_.NextDeadline();
  if (clock_.IsVirtual() || selectors_.empty()) return clock_.WaitUntil(deadline);
  // A single source may be able to sleep on our behalf. With several, each would keep the others
  // from being polled.
  if (selectors_.size() == 1 && selectors_.front()->Wait(deadline)) return true;
  if (now_ - last_event_ >= policy_.busy_poll) {
    clock_.WaitUntil(std::min(deadline, After(now_, policy_.nap)));
  }
  return true;
}

}  // namespace coro
