#include "drydock/sim/events/timeline.h"

#include <optional>

#include "drydock/coro/check.h"

namespace drydock::sim {

Timeline::Timeline(ClockKind kind, EventLog* log)
    : real_(kind == ClockKind::kReal),
      log_(log),
      start_(real_ ? steady_.Now() : kStart),
      now_(start_) {}

bool Timeline::WaitUntil(coro::Time deadline) {
  ++looks_;
  if (real_) return WaitReal(deadline);
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
  now_ = std::max(now_, deadline);
  return true;
}

bool Timeline::WaitReal(coro::Time deadline) {
  RunDue();
  if (TakeWake()) return true;
  return steady_.WaitUntil(std::min(deadline, next_event()));
}

// The clock is read only where an event lies in the future: one without a delay is due at once.
void Timeline::StepReal() {
  while (!queue_.empty()) {
    if (queue_.next_time() > now_) {
      CatchUp();
      if (queue_.next_time() > now_) return;
    }
    RunNext();
  }
}

bool Timeline::RunUntil(const std::function<bool()>& done, coro::Duration duration) {
  DD_CHECK(!real_, "the machine's clock runs by itself");
  const coro::Time deadline = coro::After(now_, duration);
  while (!done()) {
    if (pool_ != nullptr && StepScheduled(deadline)) continue;
    if (pool_ != nullptr || queue_.empty() || queue_.next_time() > deadline) {
      now_ = std::max(now_, deadline);
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
  DD_CHECK(!real_, "on the machine's clock there is no network to schedule");
  DD_CHECK(event_count_ == 0 && queue_.empty(), "a scheduler comes before everything happens");
  pool_ = std::make_unique<StepPool>(scheduler);
}

std::vector<Step> Timeline::StepsUnderWay() const {
  return pool_ == nullptr ? std::vector<Step>() : pool_->Steps();
}

bool Timeline::TakeIntoPool(Actor* actor, EventKind kind, std::uint32_t a, std::uint64_t b) {
  pool_->Scheduled(kind);
  return pool_->Take({now_, actor, b, a, kind});
}

// The next thing that happens, at `deadline` at the latest; false: nothing does.
bool Timeline::StepScheduled(coro::Time deadline) {
  // Events that are due, and packets that are about to leave, come first: the pool holds all
  // possible next steps.
  const bool first = next_event() <= now_ || pool_->more_to_come();
  if (first && !queue_.empty() && next_event() <= deadline) {
    RunNext();
    return true;
  }
  if (now_ >= deadline) return false;
  coro::Time next = next_event();
  const StepPool::Choice choice = pool_->Pick(elapsed());
  if (choice.step.has_value()) {
    now_ = std::min(now_ + kStepTime, deadline);
    RunPicked(*choice.step);
    return true;
  }
  if (choice.waits) {
    next = std::min(next, coro::After(start_, pool_->resumes()));
    if (next < next_event() && next <= deadline) {
      now_ = std::max(now_, next);
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
    event->time = now_;
    Happen(*event);
    if (!pool_->takes_whole_operations()) return;
    while (pool_->more_to_come() && !queue_.empty()) RunNext();  // a read's data leave
  }
}

void Timeline::AdvanceScheduled(coro::Time time) {
  while (!queue_.empty() && queue_.next_time() <= time) RunNext();
  now_ = std::max(now_, time);
  if (pool_->Charged()) StepScheduled(coro::kNever);
}

}  // namespace drydock::sim
