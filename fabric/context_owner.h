// A context with an owner: for programs whose contexts are addresses of the objects that wait for
// completions, such as awaiters in coroutine frames.
//
//   struct MyAwaiter { fabric::ContextOwner owner; ... request.context = owner.context(); ... };
//
// A Context is a plain number, and a reader cannot see what it stands for. Code that makes one from
// an address may declare it in this way: an owner that dies while its operation is in flight is
// then reported by backends that watch (the simulator, in virtual time). fabric/async does without:
// its contexts are slots, which outlive every coroutine.

#ifndef DRYDOCK_FABRIC_CONTEXT_OWNER_H_
#define DRYDOCK_FABRIC_CONTEXT_OWNER_H_

#include <cstdint>

#include "drydock/fabric/operation.h"

namespace drydock::fabric {

// Is told when an owner is destroyed. The watchers of one thread form a list.
class ContextWatcher {
 public:
  ContextWatcher() = default;
  ContextWatcher(const ContextWatcher&) = delete;
  ContextWatcher& operator=(const ContextWatcher&) = delete;
  virtual ~ContextWatcher() {
    if (link_ == nullptr) return;
    *link_ = next_;
    if (next_ != nullptr) next_->link_ = link_;
  }

  // From now on it is told of the owners of this thread, which destroys it. REQUIRES: called once.
  void WatchOwners() {
    next_ = first_;
    link_ = &first_;
    if (next_ != nullptr) next_->link_ = &next_;
    first_ = this;
  }

  // The owner of this context is being destroyed, and did not hand it over. Must not throw.
  virtual void OnOwnerGone(Context context) = 0;

 private:
  friend class ContextOwner;

  static inline thread_local ContextWatcher* first_ = nullptr;

  ContextWatcher* next_ = nullptr;
  ContextWatcher** link_ = nullptr;  // what points here; null: it is in no list
};

// Not movable: its address is the context. Its destructor reads one thread-local variable; it has
// no other cost. Threads: the thread of its backend.
class ContextOwner {
 public:
  ContextOwner() = default;
  ContextOwner(const ContextOwner&) = delete;
  ContextOwner& operator=(const ContextOwner&) = delete;
  ~ContextOwner() {
    if (handed_over_) return;
    for (ContextWatcher* watcher = ContextWatcher::first_; watcher != nullptr;
         watcher = watcher->next_) {
      watcher->OnOwnerGone(context());
    }
  }

  Context context() const { return static_cast<Context>(reinterpret_cast<std::uint64_t>(this)); }

  // Another object takes the completion from now on, and looks nothing up at this address.
  void HandOver() { handed_over_ = true; }

 private:
  bool handed_over_ = false;
};

}  // namespace drydock::fabric

#endif  // DRYDOCK_FABRIC_CONTEXT_OWNER_H_
