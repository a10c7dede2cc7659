#include "coro/scope.h"

#include <coroutine>
#include <utility>

namespace coro {
namespace internal {

// The coroutine around one spawned task: a link in its scope's list, and gone as soon as the task
// is.
class ScopeChild {
 public:
  struct promise_type : ListNode {
    // The coroutine's parameters, as the language passes them here.
    promise_type(Scope& owner, Task<absl::Status>&) : scope(owner) {}

    ScopeChild get_return_object() {
      return ScopeChild(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    std::suspend_never final_suspend() const noexcept { return {}; }  // frees the frame
    void unhandled_exception() const { UnhandledExceptionInTask(); }
    void return_value(absl::Status status) {
      Unlink();
      scope.Finished(std::move(status));
    }

    Scope& scope;
  };

  static ScopeChild Run(Scope&, Task<absl::Status> task) { co_return co_await std::move(task); }

  static void Destroy(ListNode& link) {
    std::coroutine_handle<promise_type>::from_promise(static_cast<promise_type&>(link)).destroy();
  }

  std::coroutine_handle<promise_type> handle() const { return handle_; }

 private:
  explicit ScopeChild(std::coroutine_handle<promise_type> handle) : handle_(handle) {}

  std::coroutine_handle<promise_type> handle_;
};

}  // namespace internal

using internal::ScopeChild;

Scope::~Scope() {
  while (ListNode* child = children_.front()) ScopeChild::Destroy(*child);
}

void Scope::Spawn(Task<absl::Status> task) {
  const ScopeChild child = ScopeChild::Run(*this, std::move(task));
  children_.PushBack(child.handle().promise());
  ++running_;
  child.handle().resume();
}

Task<absl::Status> Scope::Join() {
  while (running_ > 0) co_await idle_.Wait();
  co_return std::exchange(first_error_, absl::OkStatus());
}

void Scope::Finished(absl::Status status) {
  --running_;
  if (first_error_.ok() && !status.ok()) first_error_ = std::move(status);
  if (running_ == 0) idle_.NotifyAll();
}

}  // namespace coro
