// Counts the immediates of a peer's writes: the only way to know, on EFA, that several writes have
// arrived.
//
//   ImmediateCounter arrived(dispatcher, 0x123);   // before the peer is asked to write
//   ...
//   if (!co_await arrived.Reached(16, deadline)) ...
//
// Writes land in any order, and an immediate vouches for its own write only: trusting the "last"
// one is the classic bug. So every write carries the immediate, and the receiver counts.

#ifndef DRYDOCK_FABRIC_ASYNC_IMMEDIATE_COUNTER_H_
#define DRYDOCK_FABRIC_ASYNC_IMMEDIATE_COUNTER_H_

#include <cstdint>

#include "drydock/coro/task.h"
#include "drydock/coro/time.h"
#include "drydock/coro/wait_list.h"
#include "drydock/fabric/async/completion_dispatcher.h"

namespace drydock::fabric::async {

// One per immediate value and dispatcher; counts from its construction, also immediates that take a
// receive (EndpointOptions::receives_take_immediates). Immediates that no counter counts are
// dropped (and counted as unexpected, where they took no receive): a peer cannot make the program
// remember values of its choice. Not thread-safe, not movable; dies before its dispatcher, and
// after every Reached that waits on it.
class ImmediateCounter {
 public:
  ImmediateCounter(CompletionDispatcher& dispatcher, std::uint32_t immediate)
      : dispatcher_(dispatcher), immediate_(immediate) {
    dispatcher_.AddCounter(immediate, *this);
  }
  ImmediateCounter(const ImmediateCounter&) = delete;
  ImmediateCounter& operator=(const ImmediateCounter&) = delete;
  ~ImmediateCounter() { dispatcher_.RemoveCounter(immediate_); }

  std::uint64_t count() const { return count_; }

  // Waits until `count` immediates have come since construction; false when the deadline came
  // first.
  coro::Task<bool> Reached(std::uint64_t count, coro::Time deadline = coro::kNever) {
    bool in_time = true;
    while (count_ < count && in_time) in_time = co_await changed_.Wait(deadline);
    co_return count_ >= count;
  }

  // For the dispatcher.
  void Count() {
    ++count_;
    changed_.NotifyAll();
  }

 private:
  CompletionDispatcher& dispatcher_;
  const std::uint32_t immediate_;
  std::uint64_t count_ = 0;
  coro::WaitList changed_;
};

}  // namespace drydock::fabric::async

#endif  // DRYDOCK_FABRIC_ASYNC_IMMEDIATE_COUNTER_H_
