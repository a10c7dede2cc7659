#include "drydock/sim/events/timeline.h"

#include <optional>

#include "drydock/coro/check.h"

namespace drydock::sim {

Timeline::Timeline(ClockKind kind, EventLog* log) : WorldClock(kind), log_(log) {}

bool Timeline::WaitUntil(coro::Time deadline) {
  ++looks_;
  if (real()) {
    RunDue();
    return TakeWake() || Sleep(std::min(deadline, next_event()));
  }
  // A poll that found nothing may itself have taken the time in which something happened elsewhere.
  if (pool_ != nullptr) {
    pool_->Waits();
    while (!woken_ && StepScheduled(deadline)) {
    }
  } else {
    while (!woken_ && !queue_.empty() && queue_.next_time() <= deadline) RunNext();
  }
  if (TakeWake()) return true;
  if (deadline == coro::kNever) {
    if (on_stuck_) on_stuck_();
    return false;
  }
  MoveTo(deadline);
  return true;
}

void Timeline::RunReal() {
  while (!queue_.empty() && HasReached(queue_.next_time())) RunNext();
}

bool Timeline::RunUntil(const std::function<bool()>& done, coro::Duration duration) {
  DD_CHECK(!real(), "the machine's clock runs by itself");
  const coro::Time deadline = coro::After(now(), duration);
  while (!done()) {
    if (pool_ != nullptr && StepScheduled(deadline)) continue;
    if (pool_ != nullptr || queue_.empty() || queue_.next_time() > deadline) {
      MoveTo(deadline);
      return false;
    }
    RunNext();
  }
  return true;
}

void Timeline::RunFor(coro::Duration duration) {
  RunUntil([] { return false; }, duration);
}

// ---- With a scheduler ----

void Timeline::UseScheduler(Scheduler& scheduler) {
  DD_CHECK(!real(), "on the machine's clock there is no network to schedule");
  DD_CHECK(event_count_ == 0 && queue_.empty(), "a scheduler comes before everything happens");
  pool_ = std::make_unique<StepPool>(scheduler);
}

std::vector<Step> Timeline::StepsUnderWay() const {
  return pool_ == nullptr ? std::vector<Step>() : pool_->Steps();
}

// The next thing that happens, at `deadline` at the latest; false: nothing does.
bool Timeline::StepScheduled(coro::Time deadline) {
  // Events that are due, and packets that are about to leave, come first: the pool holds all
  // possible next steps.
  const bool first = next_event() <= now() || pool_->more_to_come();
  if (first && !queue_.empty() && next_event() <= deadline) {
    RunNext();
    return true;
  }
  if (now() >= deadline) return false;
  coro::Time next = next_event();
  const StepPool::Choice choice = pool_->Pick(elapsed());
  if (choice.step.has_value()) {
    MoveTo(std::min(now() + kStepTime, deadline));
    RunPicked(*choice.step);
    return true;
  }
  if (choice.waits) {
    next = std::min(next, coro::After(kStart, pool_->resumes()));
    if (next < next_event() && next <= deadline) {
      MoveTo(next);
      return true;
    }
  }
  if (next > deadline || queue_.empty()) return false;
  RunNext();
  return true;
}

// One event of the pool; with whole operations, those that follow from it as well.
void Timeline::RunPicked(const Step& picked) {
  while (std::optional<Event> event = pool_->Remove(picked)) {
    event->time = now();
    Happen(*event);
    if (!pool_->takes_whole_operations()) return;
    while (pool_->more_to_come() && !queue_.empty()) RunNext();  // a read's data leave
  }
}

}  // namespace drydock::sim
