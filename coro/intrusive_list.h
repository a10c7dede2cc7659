// A doubly linked list whose links live in the elements: no allocation, and an element that dies
// leaves by itself.
//
//   struct Waiter : coro::ListNode { ... };
//   coro::IntrusiveList<Waiter> waiters;
//   waiters.PushBack(waiter);
//   while (Waiter* first = waiters.PopFront()) first->Wake();
//
// This makes it safe to destroy a coroutine at any suspension point: its awaiter is in some list
// (the waiters of an event, the operations that wait for room in a queue), and leaves it when its
// frame is destroyed.

#ifndef DRYDOCK_CORO_INTRUSIVE_LIST_H_
#define DRYDOCK_CORO_INTRUSIVE_LIST_H_

#include "drydock/coro/check.h"

namespace drydock::coro {

// Base of an element. An element is in at most one list, and stays where it is in memory: its
// neighbours point at it.
class ListNode {
 public:
  ListNode() = default;
  ListNode(const ListNode&) = delete;
  ListNode& operator=(const ListNode&) = delete;
  ~ListNode() { Unlink(); }

  bool linked() const { return next_ != nullptr; }

  // Leaves the list, if in one.
  void Unlink() {
    if (next_ == nullptr) return;
    prev_->next_ = next_;
    next_->prev_ = prev_;
    next_ = nullptr;
  }

 private:
  template <typename T>
  friend class IntrusiveList;

  ListNode* prev_ = nullptr;
  ListNode* next_ = nullptr;
};

// T derives from ListNode. The list does not own its elements, and its destructor unlinks them. All
// calls but ForEach and the destructor take constant time.
// Not thread-safe.
template <typename T>
class IntrusiveList {
 public:
  IntrusiveList() { Clear(); }
  IntrusiveList(const IntrusiveList&) = delete;
  IntrusiveList& operator=(const IntrusiveList&) = delete;
  ~IntrusiveList() {
    while (PopFront() != nullptr) {
    }
    // The head is not an element: keep ~ListNode from unlinking it.
    head_.prev_ = head_.next_ = nullptr;
  }

  bool empty() const { return head_.next_ == &head_; }

  // First element, which stays in the list, or null.
  T* front() { return empty() ? nullptr : static_cast<T*>(head_.next_); }

  // REQUIRES: `node` is in no list.
  void PushBack(T& node) {
    ListNode& link = node;
    DD_CHECK(!link.linked(), "element is in a list already");
    link.prev_ = head_.prev_;
    link.next_ = &head_;
    head_.prev_->next_ = &link;
    head_.prev_ = &link;
  }

  // Removes and returns the first element, or null.
  T* PopFront() {
    if (empty()) return nullptr;
    T* node = static_cast<T*>(head_.next_);
    node->Unlink();
    return node;
  }

  // Calls `each` for every element, in order. `each` may take its own element out of the list, or
  // destroy it, and no other.
  template <typename Each>
  void ForEach(const Each& each) {
    for (ListNode* link = head_.next_; link != &head_;) {
      ListNode* const next = link->next_;
      each(static_cast<T&>(*link));
      link = next;
    }
  }

  // Moves all of `other` to the end of this list, in order; `other` is empty then.
  void Append(IntrusiveList& other) {
    if (other.empty()) return;
    other.head_.next_->prev_ = head_.prev_;
    head_.prev_->next_ = other.head_.next_;
    other.head_.prev_->next_ = &head_;
    head_.prev_ = other.head_.prev_;
    other.Clear();
  }

 private:
  void Clear() { head_.prev_ = head_.next_ = &head_; }

  ListNode head_;
};

}  // namespace drydock::coro

#endif  // DRYDOCK_CORO_INTRUSIVE_LIST_H_
