// A bounded queue between coroutines: senders wait while it is full, receivers while it is empty.
//
//   coro::Channel<Page> pages(16);
//   // Ends when the channel is closed and empty.
//   while (std::optional<Page> page = co_await pages.Receive()) ...

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

// First in, first out; any number of senders and receivers. A value is in the channel or with a
// receiver, never lost: a receiver that is cancelled has taken nothing. Not thread-safe, not
// movable. Outlives its waiters.
template <typename T>
class Channel {
 public:
  // REQUIRES: `capacity` > 0.
  explicit Channel(std::size_t capacity) : capacity_(capacity) {
    DD_CHECK(capacity > 0, "a channel without room passes nothing on");
  }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  std::size_t size() const { return values_.size(); }
  bool closed() const { return closed_; }

  // False, and the value is dropped, when the channel is closed or the deadline came first.
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

  // The next value; nothing when the channel is closed and empty, or the deadline came first.
  Task<std::optional<T>> Receive(Time deadline = kNever) {
    bool in_time = true;
    while (values_.empty() && !closed_ && in_time) in_time = co_await arrived_.Wait(deadline);
    if (values_.empty()) co_return std::nullopt;
    std::optional<T> value(std::move(values_.front()));
    values_.pop_front();
    room_.NotifyOne();
    co_return value;
  }

  // Nothing can be sent any more; what is in the channel can be received.
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
