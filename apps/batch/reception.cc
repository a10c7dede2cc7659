#include "drydock/apps/batch/reception.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/apps/common/frames.h"
#include "drydock/coro/event.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/scope.h"
#include "drydock/coro/semaphore.h"
#include "drydock/coro/sleep.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/tcp.h"
#include "drydock/coro/when_any.h"

namespace drydock::apps::batch {
namespace {

// With a caller that says nothing, or does not listen.
constexpr coro::Duration kPatience = std::chrono::seconds(5);
// How long to wait for descriptors that callers have.
constexpr coro::Duration kRetry = std::chrono::milliseconds(100);

class Reception {
 public:
  Reception(const coro::Descriptor& listener, LogLine log, coro::Time deadline)
      : listener_(listener), log_(std::move(log)), deadline_(deadline) {}

  coro::Task<absl::StatusOr<Caller>> Sender() {
    coro::Scope callers;
    std::vector<coro::Task<absl::Status>> tasks;
    tasks.push_back(AcceptAll(callers));
    tasks.push_back(Found());
    CO_RETURN_IF_ERROR((co_await coro::WhenAny(std::move(tasks))).second);
    co_return *std::move(sender_);
  }

 private:
  // Returns with an error only.
  coro::Task<absl::Status> AcceptAll(coro::Scope& callers) {
    for (;;) {
      const bool has_room = co_await room_.Acquire(deadline_);
      absl::StatusOr<coro::Descriptor> caller = absl::DeadlineExceededError("");
      if (has_room) caller = co_await coro::Accept(listener_, deadline_);
      if (absl::IsDeadlineExceeded(caller.status())) {
        co_return absl::DeadlineExceededError("receive: its sender has not come in time");
      }
      const bool callers_have_some = room_.available() + 1 < kMostCallers;  // besides this place
      if (absl::IsResourceExhausted(caller.status()) && callers_have_some) {
        room_.Release();
        co_await coro::Sleep(kRetry);
        continue;
      }
      CO_RETURN_IF_ERROR(caller.status());
      callers.Spawn(Hear(*std::move(caller)));
    }
  }

  coro::Task<absl::Status> Found() {
    co_await found_.Wait();
    co_return absl::OkStatus();
  }

  coro::Task<absl::Status> Hear(coro::Descriptor connection) {
    absl::StatusOr<Hello> hello = co_await Greet(connection);
    if (!hello.ok()) {
      log_("ignored", absl::StrCat("a caller that is no sender: ", hello.status().message()));
      co_await Refuse(connection, hello.status());
    } else if (!sender_.has_value()) {
      sender_.emplace(std::move(connection), *std::move(hello));
      found_.Set();
    }
    room_.Release();
    co_return absl::OkStatus();
  }

  coro::Task<absl::StatusOr<Hello>> Greet(const coro::Descriptor& caller) {
    const coro::Time now = coro::EventLoop::Current().Now();
    const coro::Time deadline = std::min(deadline_, coro::After(now, kPatience));
    CO_ASSIGN_OR_RETURN(const std::vector<std::byte> greeting,
                        co_await ReceiveFrame(caller, kMostMessageBytes, deadline));
    co_return Hello::Parse(greeting);
  }

  const coro::Descriptor& listener_;
  const LogLine log_;
  const coro::Time deadline_;
  coro::Semaphore room_{kMostCallers};
  std::optional<Caller> sender_;
  coro::Event found_;
};

}  // namespace

coro::Task<absl::StatusOr<Caller>> AwaitSender(const coro::Descriptor& listener, LogLine log,
                                               coro::Time deadline) {
  Reception reception(listener, std::move(log), deadline);
  co_return co_await reception.Sender();
}

coro::Task<> Refuse(const coro::Descriptor& peer, absl::Status why) {
  Ready refusal;
  refusal.refusal = std::string(why.message());
  const coro::Time deadline = coro::After(coro::EventLoop::Current().Now(), kPatience);
  const absl::Status told = co_await SendFrame(peer, refusal.Serialize(), deadline);
  static_cast<void>(told);  // what was wrong before is the news
}

}  // namespace drydock::apps::batch
