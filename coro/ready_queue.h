// The tasks that can run, in the order in which they became ready.

#ifndef CORO_READY_QUEUE_H_
#define CORO_READY_QUEUE_H_

#include "coro/live_tasks.h"

namespace coro::internal {

// A doubly linked list through the tasks themselves: no allocation, and a task that dies leaves by
// itself. Not thread-safe. Dies empty: its tasks refer to it.
class ReadyQueue {
 public:
  ReadyQueue() { head_.previous = head_.next = &head_; }
  ReadyQueue(const ReadyQueue&) = delete;
  ReadyQueue& operator=(const ReadyQueue&) = delete;

  bool empty() const { return head_.next == &head_; }

  // REQUIRES: `task` is suspended, and in no queue.
  //
  // In this order, since GCC 12 writes the two links of a node at once where nothing is written in
  // between, and whoever then reads one of them waits, as everybody does.
  void PushBack(TaskRecord& task) {
    task.waits_for_ = TaskRecord::kReady;
    ReadyLink& link = task;
    ReadyLink* const last = head_.previous;
    link.next = &head_;
    last->next = &link;
    head_.previous = &link;
    link.previous = last;
  }

  // Removes the first task, which runs from now on. REQUIRES: not empty.
  TaskRecord& PopFront() {
    ReadyLink* const first = head_.next;
    ReadyLink* const second = first->next;
    head_.next = second;
    second->previous = &head_;
    auto& task = static_cast<TaskRecord&>(*first);
    task.set_running();
    return task;
  }

 private:
  ReadyLink head_;
};

}  // namespace coro::internal

#endif  // CORO_READY_QUEUE_H_
