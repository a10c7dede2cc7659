// Reads a completion queue for a loop, and takes each completion to the task that waits for it.

#ifndef DRYDOCK_FABRIC_ASYNC_COMPLETION_DISPATCHER_H_
#define DRYDOCK_FABRIC_ASYNC_COMPLETION_DISPATCHER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "drydock/coro/event_loop.h"
#include "drydock/coro/intrusive_list.h"
#include "drydock/coro/selector.h"
#include "drydock/fabric/async/operation_slots.h"
#include "drydock/fabric/completion_queue.h"
#include "drydock/fabric/trace/resume_listener.h"

namespace drydock::fabric::async {

class ImmediateCounter;

// Told when completions were read: a queue that was full may have room.
class RoomListener : public coro::ListNode {
 public:
  // Called once per poll that read something; it may post, and leave the list.
  virtual void OnRoom() = 0;

 protected:
  ~RoomListener() = default;
};

// Counts of events that no awaiter was told of.
struct DispatcherCounters {
  std::uint64_t completions = 0;
  // Of an operation whose endpoint was closed before, or that had its completion already.
  std::uint64_t late = 0;
  // That took no receive, and that no ImmediateCounter waits for.
  std::uint64_t unexpected_immediates = 0;
  std::uint64_t stray_errors = 0;  // failures with no context
  std::uint64_t queue_errors = 0;  // failures of the queue itself: overrun
};

// What it is: a selector over one completion queue.
// Ownership: owns the queue; the endpoints on it (AsyncEndpoint) refer to the dispatcher and die
// before it. The loop outlives it. Threads: the loop's. Blocking: Wait only, where the queue has
// the power BlockingWait.
class CompletionDispatcher final : public coro::Selector {
 public:
  CompletionDispatcher(coro::EventLoop& loop, std::unique_ptr<CompletionQueue> queue);
  CompletionDispatcher(const CompletionDispatcher&) = delete;
  CompletionDispatcher& operator=(const CompletionDispatcher&) = delete;
  ~CompletionDispatcher() override;

  coro::EventLoop& loop() { return loop_; }
  CompletionQueue& queue() { return *queue_; }
  OperationSlots& slots() { return slots_; }
  const DispatcherCounters& counters() const { return counters_; }

  // The provider's words for a failure that was dispatched, by its number; empty when there were
  // none.
  std::string ErrorText(std::int32_t provider_error) const;

  // --- coro::Selector ---
  std::size_t Poll(std::size_t budget) override;
  bool Wait(coro::Time deadline) override;
  std::string DescribeOrphans() const override { return slots_.DescribeOrphans(loop_.Now()); }

  // --- For the rest of fabric/async ---
  void AddRoomListener(RoomListener& listener) { room_listeners_.PushBack(listener); }
  // REQUIRES: no other counter has this immediate.
  void AddCounter(std::uint32_t immediate, ImmediateCounter& counter);
  void RemoveCounter(std::uint32_t immediate);

 private:
  void Dispatch(const Completion& completion);
  void DispatchStray(const Completion& completion);
  // Of a write that ended well here. False: no ImmediateCounter waits for its immediate.
  bool CountImmediate(const Completion& completion);
  void QueueFailed(ErrorCode error);

  coro::EventLoop& loop_;
  std::unique_ptr<CompletionQueue> queue_;
  trace::ResumeListener* const resumes_;  // null: no observer
  OperationSlots slots_;
  std::map<std::uint32_t, ImmediateCounter*> immediates_;
  std::map<std::int32_t, std::string> error_texts_;
  coro::IntrusiveList<RoomListener> room_listeners_;
  DispatcherCounters counters_;
  // Of the poll under way: filling old ones is faster than making new ones. As many as amortise a
  // call.
  std::array<Completion, 32> entries_;
};

}  // namespace drydock::fabric::async

#endif  // DRYDOCK_FABRIC_ASYNC_COMPLETION_DISPATCHER_H_
