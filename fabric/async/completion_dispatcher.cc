#include "drydock/fabric/async/completion_dispatcher.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/coro/check.h"
#include "drydock/fabric/async/immediate_counter.h"

namespace drydock::fabric::async {
namespace {

// A peer cannot make us remember more than this.
constexpr std::size_t kMostErrorTexts = 64;

}  // namespace

CompletionDispatcher::CompletionDispatcher(coro::EventLoop& loop,
                                           std::unique_ptr<CompletionQueue> queue)
    : loop_(loop), queue_(std::move(queue)), resumes_(queue_->power<trace::ResumeListener>()) {
  loop_.AddSelector(*this);
}

CompletionDispatcher::~CompletionDispatcher() {
  DD_CHECK(room_listeners_.empty(), "an endpoint outlives its dispatcher");
  DD_CHECK(immediates_.empty(), "an immediate counter outlives its dispatcher");
  loop_.RemoveSelector(*this);
}

std::string CompletionDispatcher::ErrorText(std::int32_t provider_error) const {
  const auto found = error_texts_.find(provider_error);
  return found == error_texts_.end() ? "" : found->second;
}

std::size_t CompletionDispatcher::Poll(std::size_t budget) {
  std::size_t handled = 0;
  while (handled < budget) {
    const std::size_t room = std::min(budget - handled, entries_.size());
    const ReadResult result = queue_->Read({entries_.data(), room});
    for (std::size_t i = 0; i < result.count; ++i) {
      if (resumes_ != nullptr) [[unlikely]] {
        resumes_->OnResume(i);
      }
      Dispatch(entries_[i]);
    }
    handled += result.count;
    if (result.error != ErrorCode::kOk) [[unlikely]]
      QueueFailed(result.error);
    if (result.count < room) break;
  }
  if (handled == 0) return 0;
  // Each listener looks once; those that still have no room stay, and those that come meanwhile
  // wait for the next time.
  coro::IntrusiveList<RoomListener> listeners;
  listeners.Append(room_listeners_);
  while (RoomListener* listener = listeners.PopFront()) {
    room_listeners_.PushBack(*listener);
    listener->OnRoom();
  }
  return handled;
}

// Those whose completions are lost are never resumed: somebody has to be told once.
void CompletionDispatcher::QueueFailed(ErrorCode error) {
  if (counters_.queue_errors++ > 0) return;
  loop_.Report(
      absl::StrCat("a completion queue has failed: ", std::string(Describe(error).meaning),
                   error == ErrorCode::kOverrun
                       ? "; operations whose completions are lost end at their deadline, or "
                         "never"
                       : ""));
}

bool CompletionDispatcher::Wait(coro::Time deadline) {
  auto* blocking = queue_->power<BlockingWait>();
  if (blocking == nullptr) return false;
  blocking->Wait(deadline);
  return true;
}

void CompletionDispatcher::Dispatch(const Completion& completion) {
  ++counters_.completions;
  if (!completion.ok() && error_texts_.size() < kMostErrorTexts &&
      error_texts_.count(completion.provider_error) == 0) {
    error_texts_[completion.provider_error] = queue_->ErrorText(completion);
  }
  if (!completion.context.has_value()) return DispatchStray(completion);
  // It has taken a receive (EndpointOptions::receives_take_immediates), whose waiter is told too.
  if (completion.kind == OperationKind::kRemoteWrite && completion.ok()) [[unlikely]]
    CountImmediate(completion);
  if (!slots_.Complete(*completion.context, completion)) ++counters_.late;
}

void CompletionDispatcher::DispatchStray(const Completion& completion) {
  if (!completion.ok()) {
    ++counters_.stray_errors;
    return;
  }
  if (completion.kind != OperationKind::kRemoteWrite || !completion.immediate.has_value()) return;
  if (!CountImmediate(completion)) ++counters_.unexpected_immediates;
}

bool CompletionDispatcher::CountImmediate(const Completion& completion) {
  if (!completion.immediate.has_value()) return false;
  const auto found = immediates_.find(*completion.immediate);
  if (found == immediates_.end()) return false;
  found->second->Count();
  return true;
}

void CompletionDispatcher::AddCounter(std::uint32_t immediate, ImmediateCounter& counter) {
  DD_CHECK(immediates_.emplace(immediate, &counter).second, "two counters for one immediate");
}

void CompletionDispatcher::RemoveCounter(std::uint32_t immediate) { immediates_.erase(immediate); }

}  // namespace drydock::fabric::async
