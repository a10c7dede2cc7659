#include "drydock/fabric/async/async_endpoint.h"

#include <algorithm>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/coro/check.h"
#include "drydock/coro/task_tree.h"
#include "drydock/fabric/cancel.h"

namespace drydock::fabric::async {

// ---- One operation ----

OperationAwaiter::OperationAwaiter(AsyncEndpoint& endpoint, const BufferRef& buffer,
                                   coro::Time deadline)
    : TimerNode(&OperationAwaiter::OnDeadline),
      endpoint_(endpoint),
      buffer_(buffer),
      deadline_(deadline) {}

void OperationAwaiter::LeaveBehind(bool dropped) {
  OperationSlots& slots = endpoint_.dispatcher_.slots();
  if (state_ == State::kPending) {
    never_posted_ = true;
    slots.Release(context_);
  } else if (standing()) {
    slots.Abandon(context_, std::nullopt, heir_);
  } else {
    const coro::Time now = endpoint_.dispatcher_.loop().Now();
    slots.Abandon(context_,
                  Orphan{.kind = kind(),
                         .bytes = bytes(),
                         .awaited = coro::PlaceOf(*task()),
                         .since = now,
                         .dropped = dropped},
                  heir_);
  }
  state_ = State::kLeft;
  PendingOperation::Unlink();
  TimerNode::Cancel();
}

bool OperationAwaiter::Begin(coro::internal::TaskRecord& task) {
  context_ = endpoint_.dispatcher_.slots().Acquire(*this, std::move(buffer_), &endpoint_);
  const bool some_wait = !endpoint_.sends_.empty() || !endpoint_.receives_.empty();
  const bool must_queue = some_wait && !endpoint_.LineOf(kind()).empty();
  const ErrorCode error = must_queue ? ErrorCode::kAgain : TryPost();
  if (error != ErrorCode::kAgain) [[likely]] {
    Posted(error);
  } else {
    state_ = State::kPending;
    coro::EventLoop& loop = endpoint_.dispatcher_.loop();
    loop.timers().Arm(
        *this, std::min(deadline_, coro::After(loop.Now(), endpoint_.options_.post_timeout)));
    endpoint_.LineOf(kind()).Add(*this);
  }
  resuming_ = state_ != State::kDone;
  if (resuming_) Suspend(task);
  return resuming_;
}

ErrorCode OperationAwaiter::TryPost() { return PostTo(*endpoint_.endpoint_, context_); }

void OperationAwaiter::Posted(ErrorCode error) {
  TimerNode::Cancel();
  if (error == ErrorCode::kOk) [[likely]] {
    state_ = State::kInFlight;
    if (deadline_ != coro::kNever) endpoint_.dispatcher_.loop().timers().Arm(*this, deadline_);
    return;
  }
  never_posted_ = true;
  endpoint_.dispatcher_.slots().Release(context_);
  Completion failed;
  failed.kind = kind();
  failed.context = context_;
  failed.error = error;
  Finish(failed);
}

void OperationAwaiter::OnDeadline(coro::TimerNode& timer) {
  auto& self = static_cast<OperationAwaiter&>(timer);
  self.LeaveBehind(/*dropped=*/false);
  Completion expired;
  expired.kind = self.kind();
  expired.context = self.context_;
  expired.error = ErrorCode::kDeadlineExceeded;
  self.Finish(expired);
}

void OperationAwaiter::Resolve(const Completion& completion) {
  if (completion.error != ErrorCode::kCanceled) return Finish(completion);
  Completion canceled = completion;
  canceled.kind = kind();  // the slots, which end it with its endpoint, do not know it
  Finish(canceled);
}

void OperationAwaiter::Finish(const Completion& completion) {
  DD_CHECK(state_ != State::kDone, "an operation ends twice: its coroutine would be resumed twice");
  result_ = completion;
  state_ = State::kDone;
  PendingOperation::Unlink();
  TimerNode::Cancel();
  if (cancellation_ != nullptr) return std::exchange(cancellation_, nullptr)->Ended();
  if (resuming_) endpoint_.dispatcher_.loop().Schedule(*this);
}

void OperationAwaiter::Cancel(coro::Cancellation& cancellation) {
  const coro::Duration patience = endpoint_.options_.cancel_patience;
  if (state_ == State::kPending || patience <= coro::Duration::zero() ||
      (kind() == OperationKind::kReceive && !TakeBack())) {
    return LeaveBehind(/*dropped=*/false);
  }
  cancellation.Expect();
  cancellation_ = &cancellation;
  coro::EventLoop& loop = endpoint_.dispatcher_.loop();
  TimerNode::Cancel();
  loop.timers().Arm(*this, std::min(deadline_, coro::After(loop.Now(), patience)));
}

bool OperationAwaiter::TakeBack() {
  auto* cancel = endpoint_.endpoint_->power<fabric::Cancel>();
  return cancel != nullptr && cancel->CancelReceive(context_) == ErrorCode::kOk;
}

template <typename Request>
PostAwaiter<Request>::~PostAwaiter() {
  LetGo();
}

template <typename Request>
const char* PostAwaiter<Request>::what() const {
  if constexpr (std::is_same_v<Request, SendRequest>) return "a send";
  if constexpr (std::is_same_v<Request, RecvRequest>) return "a receive";
  if constexpr (std::is_same_v<Request, WriteRequest>) return "a write";
  if constexpr (std::is_same_v<Request, ReadRequest>) return "a read";
}

template <typename Request>
OperationKind PostAwaiter<Request>::kind() const {
  if constexpr (std::is_same_v<Request, SendRequest>) return OperationKind::kSend;
  if constexpr (std::is_same_v<Request, RecvRequest>) return OperationKind::kReceive;
  if constexpr (std::is_same_v<Request, WriteRequest>) return OperationKind::kWrite;
  if constexpr (std::is_same_v<Request, ReadRequest>) return OperationKind::kRead;
}

template <typename Request>
std::size_t PostAwaiter<Request>::bytes() const {
  if constexpr (std::is_same_v<Request, WriteRequest>) {
    return request_.source.length_bytes;
  } else if constexpr (std::is_same_v<Request, ReadRequest>) {
    return request_.target.length_bytes;
  } else {
    return request_.buffer.length_bytes;
  }
}

template <typename Request>
bool PostAwaiter<Request>::standing() const {
  if constexpr (kIsReceive) return standing_;
  return false;
}

template <typename Request>
ErrorCode PostAwaiter<Request>::PostTo(Endpoint& endpoint, Context context) {
  request_.context = context;
  if constexpr (std::is_same_v<Request, SendRequest>) return endpoint.Send(request_);
  if constexpr (std::is_same_v<Request, RecvRequest>) return endpoint.Recv(request_);
  if constexpr (std::is_same_v<Request, WriteRequest>) return endpoint.Write(request_);
  if constexpr (std::is_same_v<Request, ReadRequest>) return endpoint.Read(request_);
}

// ---- The endpoint ----

AsyncEndpoint::AsyncEndpoint(CompletionDispatcher& dispatcher, std::unique_ptr<Endpoint> endpoint,
                             const AsyncEndpointOptions& options)
    : dispatcher_(dispatcher),
      endpoint_(std::move(endpoint)),
      options_(options),
      sends_(dispatcher, options.backoff),
      receives_(dispatcher, options.backoff) {}

AsyncEndpoint::~AsyncEndpoint() { Close().IgnoreError(); }

void AsyncEndpoint::ReportOrphans() {
  coro::EventLoop& loop = dispatcher_.loop();
  if (dispatcher_.slots().abandoned() == 0) return;
  const std::string orphans = dispatcher_.slots().DescribeOrphansOf(this, loop.Now());
  if (orphans.empty()) return;
  loop.Report(absl::StrCat("endpoint ", address().ToHex(),
                           " closes, and operations that nobody waits for have not completed:\n",
                           orphans));
}

absl::Status AsyncEndpoint::Close() {
  ReportOrphans();
  const absl::Status status = endpoint_->Close();
  dispatcher_.slots().CancelAll(this);
  return status;
}

PostAwaiter<SendRequest> AsyncEndpoint::Send(const BufferSlice& message, Peer peer,
                                             const OperationOptions& options) {
  const SendRequest request{
      .buffer = message.local(), .peer = peer, .immediate = options.immediate};
  return PostAwaiter<SendRequest>(*this, message.buffer(), request, options);
}

PostAwaiter<RecvRequest> AsyncEndpoint::Recv(const BufferSlice& room,
                                             const OperationOptions& options) {
  const RecvRequest request{.buffer = room.local()};
  return PostAwaiter<RecvRequest>(*this, room.buffer(), request, options);
}

PostAwaiter<WriteRequest> AsyncEndpoint::Write(const BufferSlice& source, RemoteBuffer target,
                                               Peer peer, const OperationOptions& options) {
  const WriteRequest request{
      .source = source.local(), .target = target, .peer = peer, .immediate = options.immediate};
  return PostAwaiter<WriteRequest>(*this, source.buffer(), request, options);
}

PostAwaiter<ReadRequest> AsyncEndpoint::Read(const BufferSlice& target, RemoteBuffer source,
                                             Peer peer, const OperationOptions& options) {
  const ReadRequest request{.target = target.local(), .source = source, .peer = peer};
  return PostAwaiter<ReadRequest>(*this, target.buffer(), request, options);
}

absl::Status AsyncEndpoint::ToStatus(const Completion& completion, absl::string_view what) const {
  const absl::Status status = fabric::ToStatus(completion.error, what);
  if (status.ok() || completion.provider_error == 0) return status;
  const std::string words = dispatcher_.ErrorText(completion.provider_error);
  // The backend's words have the number in them.
  const std::string number = absl::StrCat("provider error ", completion.provider_error);
  return absl::Status(status.code(),
                      absl::StrCat(status.message(), " (", words.empty() ? number : words, ")"));
}

template class PostAwaiter<SendRequest>;
template class PostAwaiter<RecvRequest>;
template class PostAwaiter<WriteRequest>;
template class PostAwaiter<ReadRequest>;

}  // namespace drydock::fabric::async
