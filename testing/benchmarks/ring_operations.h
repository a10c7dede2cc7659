// The least that a loop needs to drive a completion queue safely: a ring in memory as the queue, a
// slot for each operation, and a selector that wakes whoever awaits it. What the loop's own part of
// an operation costs, with no fabric around it.

#ifndef TESTING_BENCHMARKS_RING_OPERATIONS_H_
#define TESTING_BENCHMARKS_RING_OPERATIONS_H_

#include <array>
#include <coroutine>
#include <cstddef>
#include <cstdint>

#include "coro/event_loop.h"
#include "coro/selector.h"
#include "coro/slot_table.h"
#include "coro/timer_queue.h"
#include "coro/wait_node.h"
#include "fabric/async/registered_buffer.h"
#include "testing/benchmarks/completion_ring.h"

namespace bench {

class RingOperation;

// Operations complete, with success, in the turn after they were posted. Not thread-safe. The loop
// outlives it.
class RingQueue final : public coro::Selector {
 public:
  RingQueue(coro::EventLoop& loop, fabric::async::BufferRef buffer)
      : loop_(loop), buffer_(std::move(buffer)) {
    loop_.AddSelector(*this);
  }
  ~RingQueue() override { loop_.RemoveSelector(*this); }

  std::size_t Poll(std::size_t budget) override;

 private:
  friend class RingOperation;

  // An operation that was posted. It keeps its buffer when the coroutine leaves.
  struct Slot {
    RingOperation* waiter = nullptr;
    fabric::async::BufferRef buffer;
  };

  coro::EventLoop& loop_;
  fabric::async::BufferRef buffer_;
  coro::SlotTable<Slot> slots_;
  CompletionRing ring_;
};

// co_await posts an operation and yields its status: 0, or kExpired when the deadline came first.
class RingOperation final : public coro::WaitNode, private coro::TimerNode {
 public:
  static constexpr std::uint32_t kExpired = 1;

  explicit RingOperation(RingQueue& queue, coro::Time deadline = coro::kNever)
      : TimerNode(&RingOperation::Expire), queue_(queue), deadline_(deadline) {}
  ~RingOperation() { LeaveBehind(); }

  bool await_ready() const { return false; }
  template <coro::TaskPromise Promise>
  [[gnu::always_inline]] void await_suspend(std::coroutine_handle<Promise> self) {
    Suspend(self);
    const auto [name, slot] = queue_.slots_.Take();
    name_ = name;
    slot->waiter = this;
    slot->buffer = queue_.buffer_;
    queue_.ring_.Post(name);
    if (deadline_ != coro::kNever) queue_.loop_.timers().Arm(*this, deadline_);
  }
  std::uint32_t await_resume() const { return status_; }

  void Cancel(coro::Cancellation&) override { LeaveBehind(); }
  const char* what() const override { return "an operation"; }

 private:
  friend class RingQueue;

  void LeaveBehind() {
    if (name_ == 0) return;
    queue_.slots_.Find(name_)->waiter = nullptr;
    name_ = 0;
    TimerNode::Cancel();
  }

  static void Expire(coro::TimerNode& timer) {
    auto& self = static_cast<RingOperation&>(timer);
    self.LeaveBehind();
    self.status_ = kExpired;
    self.queue_.loop_.Schedule(self);
  }

  void Complete(coro::EventLoop& loop, std::uint32_t status) {
    name_ = 0;
    status_ = status;
    TimerNode::Cancel();
    loop.Schedule(*this);
  }

  RingQueue& queue_;
  const coro::Time deadline_;
  std::uint64_t name_ = 0;  // 0: not in flight
  std::uint32_t status_ = 0;
};

inline std::size_t RingQueue::Poll(std::size_t budget) {
  std::size_t handled = 0;
  std::array<CompletionRing::Entry, CompletionRing::kBatch> entries;
  while (handled < budget) {
    const std::size_t count = ring_.Poll(entries);
    for (std::size_t i = 0; i < count; ++i) {
      Slot* const slot = slots_.FindAndFree(entries[i].name);
      if (slot == nullptr) continue;  // a late completion
      RingOperation* const waiter = slot->waiter;
      slot->buffer.reset();
      if (waiter != nullptr) waiter->Complete(loop_, entries[i].status);
    }
    handled += count;
    if (count < entries.size()) break;
  }
  return handled;
}

}  // namespace bench

#endif  // TESTING_BENCHMARKS_RING_OPERATIONS_H_
