#include "drydock/coro/scope.h"

#include <utility>

#include "drydock/coro/check.h"

namespace drydock::coro {
namespace internal {

// Where a task was spawned.
struct Origin {
  Scope& scope;
  const char* file;
  const char* function;
  std::uint32_t line;
};

// The coroutine around one spawned task: a link in its scope's list, and gone as soon as the task
// is.
class ScopeChild {
 public:
  struct promise_type : PromiseBase, ListNode {
    // The coroutine's parameters, as the language passes them here: the frame's own.
    promise_type(const Task<absl::Status>& spawned, const Origin& origin)
        : scope(origin.scope), job(spawned) {
      set_origin(origin.file, origin.function, origin.line);
      set_running();
    }

    ScopeChild get_return_object() {
      return ScopeChild(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    std::suspend_never final_suspend() const noexcept { return {}; }  // frees the frame
    // Its only await is in this file, and not where the task was spawned: there is no line to tell.
    Task<absl::Status>::Awaiter await_transform(Task<absl::Status>&& task) noexcept {
      return PromiseBase::await_transform(std::move(task), 0);
    }
    void return_value(absl::Status status) {
      Unlink();
      if (!status.ok()) [[unlikely]]
        scope.Failed(PlaceOf(job.handle().promise()), PlaceOf(*this), status);
      scope.Finished();
    }

    Scope& scope;
    const Task<absl::Status>& job;
  };

  static ScopeChild Run(Task<absl::Status> task, const Origin&) {
    co_return co_await std::move(task);
  }

  static promise_type& PromiseOf(ListNode& link) { return static_cast<promise_type&>(link); }

  static void Destroy(ListNode& link) {
    std::coroutine_handle<promise_type>::from_promise(PromiseOf(link)).destroy();
  }

  std::coroutine_handle<promise_type> handle() const { return handle_; }

 private:
  explicit ScopeChild(std::coroutine_handle<promise_type> handle) : handle_(handle) {}

  std::coroutine_handle<promise_type> handle_;
};

}  // namespace internal

using internal::ScopeChild;

Scope::Doomed::~Doomed() {
  while (ListNode* child = children_.front()) {
    ScopeChild::Destroy(*child);
    // As where Join returns; here that may have been cancelled itself.
    if (--scope_.running_ == 0) scope_.cancelled_ = false;
  }
}

void Scope::Doomed::Ask(Cancellation& cancellation) {
  children_.ForEach([&](ListNode& child) { ScopeChild::PromiseOf(child).Cancel(cancellation); });
}

void Scope::JoinWaiter::Cancel(Cancellation& cancellation) {
  Waiter::Cancel(cancellation);
  CancelTasks(cancellation);
}

void Scope::JoinWaiter::CancelTasks(Cancellation& cancellation) {
  doomed_.emplace(scope_).Ask(cancellation);
  if (scope_.running_ == 0) scope_.cancelled_ = false;  // the last one has ended in this turn
}

void Scope::JoinWaiter::ForEachTask(
    const std::function<void(const internal::TaskRecord&)>& each) const {
  scope_.children_.ForEach([&](ListNode& child) { each(ScopeChild::PromiseOf(child)); });
}

Scope::~Scope() {
  while (ListNode* child = children_.front()) ScopeChild::Destroy(*child);
}

void Scope::Spawn(Task<absl::Status> task, const char* file, const char* function,
                  std::uint32_t line) {
  const internal::Origin origin{*this, file, function, line};
  const ScopeChild child = ScopeChild::Run(std::move(task), origin);
  children_.PushBack(child.handle().promise());
  ++running_;
  child.handle().resume();
}

void Scope::Cancel() {
  cancelled_ = true;
  changed_.NotifyAll();
}

Task<absl::Status> Scope::Join() {
  while (running_ > 0) {
    if (cancelled_) {
      co_await EndChildren();
    } else {
      co_await JoinWaiter(*this);
    }
  }
  cancelled_ = false;
  co_return errors_.Take();
}

Task<> Scope::EndChildren() {
  DD_CHECK(!children_.empty(), "a scope is joined by two tasks at a time");
  EndOfWaits ended;
  Doomed doomed(*this);
  doomed.Ask(ended);
  co_await ended;
}

void Scope::Failed(const TaskPlace& task, const TaskPlace& spawned, const absl::Status& error) {
  // What cancelling has caused is no failure.
  if (!cancelled_ || !absl::IsCancelled(error)) errors_.Add(task, spawned, error);
  if (on_error_ == OnError::kCancel) cancelled_ = true;
}

void Scope::Finished() {
  --running_;
  if (running_ == 0 || cancelled_) changed_.NotifyAll();
}

}  // namespace drydock::coro
