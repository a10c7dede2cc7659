#include "drydock/coro/event_loop.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "drydock/coro/check.h"
#include "drydock/coro/task_tree.h"

namespace drydock::coro {
namespace {

std::string Milliseconds(Duration duration) {
  return absl::StrCat(static_cast<double>(duration.count()) / 1e6, " ms");
}

}  // namespace

absl::Status EventLoop::StuckError() const {
  absl::Status status =
      absl::AbortedError("event loop is stuck: its task waits for something that can never happen");
  status.SetPayload(kTaskTreePayload, absl::Cord(Describe()));
  return status;
}

std::string EventLoop::Describe() const {
  std::string text = DescribeTasks();
  for (const Selector* selector : selectors_) {
    const std::string orphans = selector->DescribeOrphans();
    if (!orphans.empty()) absl::StrAppend(&text, "operations that nobody waits for:\n", orphans);
  }
  return text;
}

EventLoop::EventLoop(Clock& clock, const IdlePolicy& policy)
    : clock_(clock), policy_(policy), now_(clock.Now()), idle_since_(now_), older_(newest_) {
  newest_ = this;
}

EventLoop::~EventLoop() {
  EventLoop** link = &newest_;
  while (*link != nullptr && *link != this) link = &(*link)->older_;
  DD_CHECK(*link != nullptr, "a loop ends on another thread than it began on");
  *link = older_;
  if (const TaskCounts tasks = CountTasks(); newest_ == nullptr && tasks.live > 0) {
    Report(absl::StrCat("event loop ends, and ", tasks.live, " tasks live, ", tasks.never_awaited,
                        " of them never awaited:\n", Describe()));
  }
  DD_CHECK(selectors_.empty(), "a selector is still in the loop");
  DD_CHECK(ready_.empty() && timers_.empty(), "a coroutine still waits in the loop");
}

void EventLoop::AddSelector(Selector& selector) {
  DD_CHECK(std::find(selectors_.begin(), selectors_.end(), &selector) == selectors_.end(),
           "selector added twice");
  selectors_.push_back(&selector);
  has_selectors_ = true;
}

void EventLoop::RemoveSelector(Selector& selector) {
  const auto found = std::find(selectors_.begin(), selectors_.end(), &selector);
  DD_CHECK(found != selectors_.end(), "selector is not in this loop");
  if (const std::string orphans = selector.DescribeOrphans(); !orphans.empty()) {
    Report(
        absl::StrCat("a selector leaves its loop, and operations that nobody waits for have not "
                     "completed:\n",
                     orphans));
  }
  selectors_.erase(found);
  has_selectors_ = !selectors_.empty();
}

void EventLoop::ReportHere(const std::string& text) {
  const EventLoop* const loop = current_ != nullptr ? current_ : newest_;
  return loop != nullptr ? loop->Report(text) : ReportToThread(text);
}

void EventLoop::ReadClock() noexcept {
  now_ = clock_.Now();
  now_is_read_ = true;
  timers_.SetPresent(now_);
}

std::size_t EventLoop::PollSelectors() {
  std::size_t events = 0;
  for (Selector* selector : selectors_) events += selector->Poll(kPollBudget);
  return events;
}

[[gnu::always_inline]] inline std::size_t EventLoop::SelectNow() {
  std::size_t events = 0;
  if (has_selectors_) events = PollSelectors();
  now_is_read_ = false;
  if (!timers_.empty()) events += timers_.FireDue(Now());
  return events;
}

[[gnu::always_inline]] inline bool EventLoop::RunReady() {
  if (ready_.untouched()) return false;
  if (stall_budget_ != Duration::zero()) [[unlikely]]
    return RunMeasured();
  return ready_.Run([](internal::TaskRecord& task) {
    task.handle().resume();  // which may end the frame of the task
  });
}

std::size_t EventLoop::Select() {
  const Entered entered(*this);
  return SelectNow();
}

bool EventLoop::RunOne() {
  if (ready_.untouched()) return false;
  DD_CHECK(current_ != this, "RunOne is called from within its loop");
  const Entered entered(*this);
  return RunReady();
}

bool EventLoop::RunMeasured() {
  return ready_.Run([this](internal::TaskRecord& task) {
    // The task may be gone when the step is over.
    const std::string who = coro::Describe(task);
    const Time before = clock_.Now();
    task.handle().resume();
    const Duration took = clock_.Now() - before;
    if (took <= stall_budget_) return;
    Report(absl::StrCat("a step took ", Milliseconds(took), ", more than ",
                        Milliseconds(stall_budget_), ": ", who, "\n", Describe()));
  });
}

bool EventLoop::RunUntilDone(std::coroutine_handle<> root) {
  DD_CHECK(current_ == nullptr, "Run is called from within a loop");
  const Entered entered(*this);
  ReadClock();
  root.resume();
  while (!root.done()) {
    const bool events = SelectNow() > 0;
    if (RunReady() || events) [[likely]] {
      was_idle_ = false;
    } else if (!Idle()) {
      break;
    }
  }
  return root.done();
}

bool EventLoop::Idle() {
  const Time deadline = timers_.NextDeadline();
  if (clock_.IsVirtual() || selectors_.empty()) return clock_.WaitUntil(deadline);
  // A single source may be able to sleep on our behalf. With several, each would keep the others
  // from being polled.
  if (selectors_.size() == 1 && selectors_.front()->Wait(deadline)) return true;
  if (!was_idle_) {
    was_idle_ = true;
    idle_since_ = Now();
  }
  if (Now() - idle_since_ >= policy_.busy_poll) {
    clock_.WaitUntil(std::min(deadline, After(now_, policy_.nap)));
  }
  return true;
}

}  // namespace drydock::coro
