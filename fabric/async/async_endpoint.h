// Operations as awaits, on any backend: an endpoint for coroutines.
//
//   AsyncEndpoint endpoint(dispatcher, std::move(raw_endpoint));
//   const fabric::Completion done =
//       co_await endpoint.Write(BufferSlice(buffer, 0, 4096), target, peer, {.immediate = 7});
//   if (!done.ok()) co_return endpoint.ToStatus(done, "write page 0");
//
// Ownership: the operation has a slot (operation_slots.h) with a share in the buffer. A coroutine
// that is destroyed, or whose deadline comes, leaves the operation behind; its bytes may still
// land, in a buffer that still lives. A write's or read's remote memory is the peer's business.

#ifndef DRYDOCK_FABRIC_ASYNC_ASYNC_ENDPOINT_H_
#define DRYDOCK_FABRIC_ASYNC_ASYNC_ENDPOINT_H_

#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/time.h"
#include "drydock/coro/timer_queue.h"
#include "drydock/fabric/async/completion_dispatcher.h"
#include "drydock/fabric/async/operation_slots.h"
#include "drydock/fabric/async/registered_buffer.h"
#include "drydock/fabric/async/retry_queue.h"
#include "drydock/fabric/endpoint.h"
#include "drydock/fabric/operation.h"

namespace drydock::fabric::async {

struct AsyncEndpointOptions {
  // How long an operation may be refused with "again" before it fails with kDeadlineExceeded.
  coro::Duration post_timeout = std::chrono::seconds(10);
  // How long the cancellation of a task waits for its sends, writes and reads that are in flight,
  // and for receives that the endpoint takes back; zero: not at all, and no receive is taken back.
  // Those that do not complete in time are left behind, as after a deadline.
  coro::Duration cancel_patience = std::chrono::seconds(1);
  BackoffOptions backoff;
};

// Of one operation. Trivially destructible, as everything that is written inside a co_await
// expression.
struct OperationOptions {
  std::optional<std::uint32_t> immediate;  // sends and writes
  coro::Time deadline = coro::kNever;      // on the loop's clock; the operation is left behind then
  // Of a receive: it stands posted for any sender, until its endpoint closes. Left behind, it is no
  // orphan, and not reported (orphan.h).
  bool standing = false;
};

class AsyncEndpoint;

// An operation that runs while it is awaited; co_await yields its Completion. Failures are values:
// those of the post (kUnknownPeer, kClosed, ...), kDeadlineExceeded, kCanceled when the endpoint
// closed, or what the NIC reported.
class OperationAwaiter : public coro::WaitNode,
                         private coro::TimerNode,
                         private PendingOperation,
                         private OperationWaiter {
 public:
  bool await_ready() const { return false; }
  template <coro::TaskPromise Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) {
    return Begin(self.promise());
  }
  Completion await_resume() const { return result_; }

  // The NIC has not taken it, and never will where it has ended: it was refused, or its deadline
  // came while it waited for room.
  bool unposted() const {
    return state_ == State::kIdle || state_ == State::kPending || never_posted_;
  }

  // Its completion; of one that has not ended, a success.
  const Completion& outcome() const { return result_; }

  // Where it is left behind in flight, its completion goes to `heir`, which outlives the operation
  // or is disinherited (operation_slots.h).
  void LeaveTo(OperationWaiter& heir) { heir_ = &heir; }

  // An operation that waits to be posted is cancelled now. One in flight completes first, for at
  // most AsyncEndpointOptions::cancel_patience; then it is left behind.
  // A receive is taken back where the endpoint can, and else left behind at once.
  void Cancel(coro::Cancellation& cancellation) override;

 protected:
  OperationAwaiter(AsyncEndpoint& endpoint, const BufferRef& buffer, coro::Time deadline);
  ~OperationAwaiter() = default;

  // The coroutine is destroyed. Called by the destructor of the class that posts.
  void LetGo() {
    if (state_ == State::kPending || state_ == State::kInFlight) [[unlikely]]
      LeaveBehind(/*dropped=*/true);
  }

  // Posts with this context.
  virtual ErrorCode PostTo(Endpoint& endpoint, Context context) = 0;
  // For reports of operations that were given up: the kind, and the bytes of the request.
  virtual OperationKind kind() const = 0;
  // See kind().
  virtual std::size_t bytes() const = 0;
  // OperationOptions::standing of a receive: it is no orphan when it is given up. False for others.
  virtual bool standing() const = 0;

 private:
  enum class State { kIdle, kPending, kInFlight, kLeft, kDone };

  // Posts for `task`; false when the operation has ended at once.
  bool Begin(coro::internal::TaskRecord& task);
  static void OnDeadline(coro::TimerNode& timer);
  ErrorCode TryPost() override;
  void Posted(ErrorCode error) override;
  void Resolve(const Completion& completion) override;

  // Asks the NIC for the end of a posted receive; false when it cannot be asked.
  bool TakeBack();
  // The operation is left behind, or was never posted.
  void LeaveBehind(bool dropped);
  void Finish(const Completion& completion);

  AsyncEndpoint& endpoint_;
  BufferRef buffer_;
  coro::Time deadline_;
  State state_ = State::kIdle;
  bool resuming_ = false;  // the coroutine is suspended, and has to be scheduled
  bool never_posted_ = false;
  coro::Cancellation* cancellation_ = nullptr;  // to be told of the end, instead of the coroutine
  OperationWaiter* heir_ = nullptr;
  Context context_{};
  Completion result_;
};

// The awaiter of one kind of request.
template <typename Request>
class [[nodiscard]] PostAwaiter final : public OperationAwaiter {
 public:
  PostAwaiter(AsyncEndpoint& endpoint, const BufferRef& buffer, const Request& request,
              const OperationOptions& options)
      : OperationAwaiter(endpoint, buffer, options.deadline), request_(request) {
    if constexpr (kIsReceive) standing_ = options.standing;
  }
  ~PostAwaiter();

  const char* what() const override;

 private:
  static constexpr bool kIsReceive = std::is_same_v<Request, RecvRequest>;
  struct Nothing {};

  OperationKind kind() const override;
  std::size_t bytes() const override;
  bool standing() const override;
  ErrorCode PostTo(Endpoint& endpoint, Context context) override;

  Request request_;
  // Of receives only: the others need not write it down.
  [[no_unique_address]] std::conditional_t<kIsReceive, bool, Nothing> standing_{};
};

// Ownership: owns the endpoint; dies before its dispatcher. Destruction closes: operations that are
// still awaited resolve with kCanceled, and orphans (orphan.h) are reported to the loop. Threads:
// the loop's.
class AsyncEndpoint {
 public:
  // `endpoint` was opened on the dispatcher's queue, for sending and receiving.
  AsyncEndpoint(CompletionDispatcher& dispatcher, std::unique_ptr<Endpoint> endpoint,
                const AsyncEndpointOptions& options = {});
  AsyncEndpoint(const AsyncEndpoint&) = delete;
  AsyncEndpoint& operator=(const AsyncEndpoint&) = delete;
  ~AsyncEndpoint();

  Address address() const { return endpoint_->address(); }
  CompletionDispatcher& dispatcher() { return dispatcher_; }

  // The slice's buffer stays registered until the operation has ended. Options: the deadline; for
  // sends and writes the immediate; for receives whether they stand.
  PostAwaiter<SendRequest> Send(const BufferSlice& message, Peer peer,
                                const OperationOptions& options = {});
  PostAwaiter<RecvRequest> Recv(const BufferSlice& room, const OperationOptions& options = {});
  PostAwaiter<WriteRequest> Write(const BufferSlice& source, RemoteBuffer target, Peer peer,
                                  const OperationOptions& options = {});
  PostAwaiter<ReadRequest> Read(const BufferSlice& target, RemoteBuffer source, Peer peer,
                                const OperationOptions& options = {});

  // OK, or what went wrong: "<what>: <meaning> (<the provider's words>)", or "(provider error 7)"
  // where it has none.
  absl::Status ToStatus(const Completion& completion, absl::string_view what) const;

  // Closes the endpoint now, as destruction does.
  absl::Status Close();

 private:
  friend class OperationAwaiter;

  void ReportOrphans();
  RetryQueue& LineOf(OperationKind kind) {
    return kind == OperationKind::kReceive ? receives_ : sends_;
  }

  CompletionDispatcher& dispatcher_;
  std::unique_ptr<Endpoint> endpoint_;
  const AsyncEndpointOptions options_;
  // A NIC has a ring for each: one that is full holds up no work of the other.
  RetryQueue sends_;  // with writes and reads
  RetryQueue receives_;
};

}  // namespace drydock::fabric::async

#endif  // DRYDOCK_FABRIC_ASYNC_ASYNC_ENDPOINT_H_
