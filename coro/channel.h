// A bounded queue between coroutines of one loop: senders wait while it is full, receivers while it
// is empty.
//
//   coro::Channel<Page> pages(16);
//   const bool sent = co_await pages.Send(std::move(page));  // false: the channel was closed
//   // Ends when the channel is closed and empty.
//   while (std::optional<Page> page = co_await pages.Receive()) ...
//
// For a count without values, use a Semaphore. Values from another thread need a Selector
// (docs/coroutines.md has an example).

#ifndef DRYDOCK_CORO_CHANNEL_H_
#define DRYDOCK_CORO_CHANNEL_H_

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include "drydock/coro/check.h"
#include "drydock/coro/task.h"
#include "drydock/coro/time.h"
#include "drydock/coro/wait_list.h"

namespace drydock::coro {

// First in, first out; any number of senders and receivers. A value that was sent is in the channel
// or with a receiver, never lost: a receiver that is cancelled has taken nothing. A sender that is
// cancelled while it waits has sent nothing, and its value is gone. Waiters are woken in their
// order; a call that finds room, or a value, does not queue behind them. Not thread-safe, not
// movable. Outlives its waiters; the values that are left die with it.
template <typename T>
class Channel {
 public:
  // `capacity`: the number of values that it holds at most. REQUIRES: > 0.
  explicit Channel(std::size_t capacity) : capacity_(capacity) {
    DD_CHECK(capacity > 0, "a channel without room passes nothing on");
  }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // Values that were sent, and not received.
  std::size_t size() const { return values_.size(); }
  bool closed() const { return closed_; }

  // Puts `value` at the end. False, and the value is dropped: the channel is closed, or there was
  // no room for it by `deadline` (on the loop's clock). Where there is room it does not wait, even
  // if the deadline has passed.
  Task<bool> Send(T value, Time deadline = kNever) {
    bool in_time = true;
    while (!closed_ && values_.size() >= capacity_ && in_time) {
      in_time = co_await room_.Wait(deadline);
    }
    if (closed_ || values_.size() >= capacity_) co_return false;
    values_.push_back(std::move(value));
    arrived_.NotifyOne();
    co_return true;
  }

  // Takes the first value. Nothing: the channel is closed and empty, or there was no value for it
  // by `deadline`; closed() tells them apart. A value that is there is taken even if the deadline
  // has passed.
  Task<std::optional<T>> Receive(Time deadline = kNever) {
    bool in_time = true;
    while (values_.empty() && !closed_ && in_time) in_time = co_await arrived_.Wait(deadline);
    if (values_.empty()) co_return std::nullopt;
    std::optional<T> value(std::move(values_.front()));
    values_.pop_front();
    room_.NotifyOne();
    co_return value;
  }

  // Nothing can be sent any more, and senders that wait return false. The values in the channel can
  // still be received; receivers that wait return nothing. Closing twice is harmless.
  void Close() {
    closed_ = true;
    room_.NotifyAll();
    arrived_.NotifyAll();
  }

 private:
  const std::size_t capacity_;
  std::deque<T> values_;
  bool closed_ = false;
  WaitList room_{"room in a channel"};
  WaitList arrived_{"a value in a channel"};
};

}  // namespace drydock::coro

#endif  // DRYDOCK_CORO_CHANNEL_H_
