// The least that a loop needs to drive a completion queue safely: a ring in memory as the queue, a
// slot for each operation, and a selector that wakes its coroutine. What the loop's own part of
// an operation costs, with no fabric around it.

#ifndef DRYDOCK_TESTING_BENCHMARKS_RING_OPERATIONS_H_
#define DRYDOCK_TESTING_BENCHMARKS_RING_OPERATIONS_H_

#include <array>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "drydock/coro/event_loop.h"
#include "drydock/coro/selector.h"
#include "drydock/coro/slot_table.h"
#include "drydock/coro/timer_queue.h"
#include "drydock/coro/wait_node.h"
#include "drydock/fabric/async/registered_buffer.h"
#include "drydock/testing/benchmarks/completion_ring.h"

namespace drydock::bench {

class RingOperationBase;

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
  friend class RingOperationBase;
  friend class TimedRingOperation;

  // An operation that was posted. It keeps its buffer when the coroutine leaves.
  struct Slot {
    RingOperationBase* waiter = nullptr;
    fabric::async::BufferRef buffer;
  };

  coro::EventLoop& loop_;
  fabric::async::BufferRef buffer_;
  coro::SlotTable<Slot> slots_;
  CompletionRing ring_;
};

// What the two below have in common.
class RingOperationBase : public coro::WaitNode {
 public:
  bool await_ready() const { return false; }
  template <coro::TaskPromise Promise>
  [[gnu::always_inline]] void await_suspend(std::coroutine_handle<Promise> self) {
    Suspend(self);
    if (!queue_.slots_.has_free()) [[unlikely]]
      return StartInNewSlot();
    Start(queue_.slots_.TakeFree());
  }
  std::uint32_t await_resume() const { return status_; }

  void Cancel(coro::Cancellation&) override { LeaveBehind(); }
  const char* what() const override { return "an operation"; }

  // It has ended.
  void Complete(coro::EventLoop& loop, std::uint32_t status) {
    status_ = status;
    loop.Schedule(*this);
  }

 protected:
  explicit RingOperationBase(RingQueue& queue) : queue_(queue) {}
  ~RingOperationBase() = default;

  RingQueue& queue() const { return queue_; }

  // Gives it up: its completion finds no operation. False: it has completed. REQUIRES: it was
  // suspended.
  [[gnu::noinline]] bool LeaveBehind() noexcept {
    RingQueue::Slot* const slot = queue_.slots_.Find(name_);
    if (slot != nullptr) slot->waiter = nullptr;
    return slot != nullptr;
  }

 private:
  void Start(const std::pair<std::uint64_t, RingQueue::Slot*>& taken) {
    const auto [name, slot] = taken;
    name_ = name;
    slot->waiter = this;
    std::construct_at(&slot->buffer, queue_.buffer_);  // what was there has been given back
    queue_.ring_.Post(name);
  }
  // Not inline, as all that calls something and is the last thing to do: a coroutine that calls
  // nothing else in between need not save registers.
  [[gnu::noinline]] void StartInNewSlot() noexcept { Start(queue_.slots_.Take()); }

  RingQueue& queue_;
  std::uint64_t name_;    // once it was suspended
  std::uint32_t status_;  // once it has ended
};

// co_await posts an operation and yields its status: 0.
class RingOperation final : public RingOperationBase {
 public:
  explicit RingOperation(RingQueue& queue) : RingOperationBase(queue) {}

  void Abandon() { LeaveBehind(); }
};

// The same with a deadline; yields kExpired when that comes first.
class TimedRingOperation final : public RingOperationBase, private coro::TimerNode {
 public:
  static constexpr std::uint32_t kExpired = 1;

  // (By reference: GCC 12 keeps what is passed by value in the coroutine's frame, a second time.)
  TimedRingOperation(RingQueue& queue, const coro::Time& deadline)
      : RingOperationBase(queue), deadline_(deadline) {}
  ~TimedRingOperation() {
    if (armed()) [[unlikely]]
      LeaveBehind();
  }

  template <coro::TaskPromise Promise>
  void await_suspend(std::coroutine_handle<Promise> self) {
    queue().loop_.timers().Arm(*this, deadline_, &TimedRingOperation::Expire);
    RingOperationBase::await_suspend(self);
  }
  std::uint32_t await_resume() {
    TimerNode::Cancel();
    return RingOperationBase::await_resume();
  }

  void Cancel(coro::Cancellation& cancellation) override {
    TimerNode::Cancel();
    RingOperationBase::Cancel(cancellation);
  }

 private:
  static void Expire(coro::TimerNode& timer) {
    auto& self = static_cast<TimedRingOperation&>(timer);
    // Else it has completed in this very turn.
    if (self.LeaveBehind()) self.Complete(self.queue().loop_, kExpired);
  }

  const coro::Time deadline_;
};

inline std::size_t RingQueue::Poll(std::size_t budget) {
  coro::EventLoop& loop = loop_;
  std::size_t handled = 0;
  std::array<CompletionRing::Entry, CompletionRing::kBatch> entries;
  while (handled < budget) {
    const std::size_t count = ring_.Poll(entries);
    for (const CompletionRing::Entry& entry : std::span(entries.data(), count)) {
      Slot* const slot = slots_.FindAndFree(entry.name);
      if (slot == nullptr) continue;  // a late completion
      RingOperationBase* const waiter = slot->waiter;
      slot->buffer.reset();
      if (waiter != nullptr) waiter->Complete(loop, entry.status);
    }
    handled += count;
    if (count < entries.size()) break;
  }
  return handled;
}

}  // namespace drydock::bench

#endif  // DRYDOCK_TESTING_BENCHMARKS_RING_OPERATIONS_H_
