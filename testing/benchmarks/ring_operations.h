// The least that a loop needs to drive a completion queue safely: a ring in memory as the queue, a
// slot for each operation, and a selector that wakes whoever awaits it. What the loop's own part of
// an operation costs, with no fabric around it.

#ifndef TESTING_BENCHMARKS_RING_OPERATIONS_H_
#define TESTING_BENCHMARKS_RING_OPERATIONS_H_

#include <array>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

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

  // (By reference: GCC 12 keeps what is passed by value in the coroutine's frame, a second time.)
  explicit RingOperation(RingQueue& queue, const coro::Time& deadline = coro::kNever)
      : queue_(queue), deadline_(deadline) {}
  ~RingOperation() {
    if (name_ != 0) [[unlikely]]
      LeaveBehind();
  }

  bool await_ready() const { return false; }
  template <coro::TaskPromise Promise>
  [[gnu::always_inline]] void await_suspend(std::coroutine_handle<Promise> self) {
    Suspend(self);
    if (!queue_.slots_.has_free()) [[unlikely]]
      return StartInNewSlot();
    if (deadline_ != coro::kNever) [[unlikely]]
      return StartWithDeadline();
    Start(queue_.slots_.TakeFree());
  }
  std::uint32_t await_resume() const { return status_; }

  void Cancel(coro::Cancellation&) override {
    if (name_ != 0) LeaveBehind();
  }
  const char* what() const override { return "an operation"; }

 private:
  friend class RingQueue;

  void Start(const std::pair<std::uint64_t, RingQueue::Slot*>& taken) {
    const auto [name, slot] = taken;
    name_ = name;
    slot->waiter = this;
    std::construct_at(&slot->buffer, queue_.buffer_);  // what was there has been given back
    queue_.ring_.Post(name);
  }
  // Not inline, as all that calls something and is the last thing to do: a coroutine that calls
  // nothing else in between need not save registers.
  [[gnu::noinline]] void StartWithDeadline() noexcept {
    Arm();
    Start(queue_.slots_.TakeFree());
  }
  [[gnu::noinline]] void StartInNewSlot() noexcept {
    Start(queue_.slots_.Take());
    if (deadline_ != coro::kNever) Arm();
  }
  void Arm() { queue_.loop_.timers().Arm(*this, deadline_, &RingOperation::Expire); }

  [[gnu::noinline]] void LeaveBehind() noexcept {
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
  std::uint32_t status_;    // once it has ended
};

inline std::size_t RingQueue::Poll(std::size_t budget) {
  std::size_t handled = 0;
  std::array<CompletionRing::Entry, CompletionRing::kBatch> entries;
  while (handled < budget) {
    const std::size_t count = ring_.Poll(entries);
    for (const CompletionRing::Entry& entry : std::span(entries.data(), count)) {
      Slot* const slot = slots_.FindAndFree(entry.name);
      if (slot == nullptr) continue;  // a late completion
      RingOperation* const waiter = slot->waiter;
      slot->buffer.reset();
      if (waiter != nullptr) waiter->Complete(loop_, entry.status);
    }
    handled += count;
    if (count < entries.size()) break;
  }
  return handled;
}

}  // namespace bench

#endif  // TESTING_BENCHMARKS_RING_OPERATIONS_H_
