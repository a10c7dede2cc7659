// What happens in a simulated world, and when: its coming events, and the clock that they move.
//
//   devices ── After(delay) ──► event queue ── due ──► Actor::OnEvent
//                                   ▲
//            code that steps it ────┘
//
// Two clocks. On the virtual one (tests) time passes in two ways only: a program that has nothing
// to do waits (WaitUntil, called by its event loop), and the timeline runs on to the next event;
// and the program's own work on the NIC costs time (Charge, called by the driver for each post and
// poll). Idle time is free, and one seed gives one run.
//
// On the machine's clock, time passes by itself: events that are due happen when the program polls
// (RunDue) or waits. Nothing that a program computes is charged. Such a run is not deterministic.
// Nor is a virtual clock that other code moves to the machine's (RunFor): so live the processes of
// sim/hosts.

#ifndef DRYDOCK_SIM_EVENTS_TIMELINE_H_
#define DRYDOCK_SIM_EVENTS_TIMELINE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "drydock/coro/clock.h"
#include "drydock/coro/time.h"
#include "drydock/sim/events/actor.h"
#include "drydock/sim/events/event.h"
#include "drydock/sim/events/event_log.h"
#include "drydock/sim/events/event_queue.h"
#include "drydock/sim/events/scheduler.h"
#include "drydock/sim/events/step_pool.h"
#include "drydock/sim/events/world_clock.h"

namespace drydock::sim {

// Not thread-safe. Outlives its actors' last event.
class Timeline final : public WorldClock {
 public:
  // `log`: where everything that happens is entered, which outlives the timeline; null: nowhere.
  explicit Timeline(ClockKind kind, EventLog* log = nullptr);

  // --- coro::Clock: the program's look at the time ---
  coro::Time Now() const override {
    ++looks_;
    return Look();
  }
  // Runs events until one happened that a program can see, or until `deadline`. False: on the
  // virtual clock, nothing can ever happen; OnStuck was told.
  bool WaitUntil(coro::Time deadline) override;
  // The same time as a clock, for code between a program and its backend: a look at this one is not
  // the program's.
  const coro::Clock& backstage() const { return backstage_; }

  // --- Scheduling ---
  // Something happens to `actor` after `delay`, and after what happens now.
  void After(coro::Duration delay, Actor* actor, EventKind kind, std::uint32_t a, std::uint64_t b) {
    if (pool_ != nullptr && pool_->Take({now(), actor, b, a, kind})) [[unlikely]] {
      return;
    }
    if (real() && delay > coro::Duration::zero()) [[unlikely]] {
      CatchUp();
    }
    queue_.Push({now() + delay, actor, b, a, kind});
  }
  // The same; but an event without a delay happens before this returns, unless a scheduler decides.
  void Deliver(coro::Duration delay, Actor* actor, EventKind kind, std::uint32_t a,
               std::uint64_t b) {
    if (delay > coro::Duration::zero() || pool_ != nullptr) return After(delay, actor, kind, a, b);
    Happen({now(), actor, b, a, kind});
  }
  // A timer: it happens at `time`, also where the network has a scheduler. Now, if `time` is past.
  void At(coro::Time time, Actor* actor, EventKind kind, std::uint32_t a, std::uint64_t b) {
    if (real()) CatchUp();
    queue_.Push({std::max(time, now()), actor, b, a, kind});
  }
  // Wakes the program at `time`.
  void WakeAt(coro::Time time) { At(time, &alarm_, EventKind::kAlarm, 0, 0); }

  // From now on the scheduler picks the network's next step, and no time is drawn for it. Outlives
  // the timeline. REQUIRES: the virtual clock; nothing was scheduled yet.
  void UseScheduler(Scheduler& scheduler);
  // The steps on the network that wait to be picked.
  std::vector<Step> StepsUnderWay() const;
  bool scheduled() const { return pool_ != nullptr; }

  // --- Running ---
  // The program computes for `cost`, `times` times; on the machine's clock it does so by itself.
  void Charge(coro::Duration cost, std::size_t times = 1) {
    if (real()) return;
    const coro::Time before = now();
    const coro::Time end = before + cost * static_cast<std::int64_t>(times);
    if (pool_ == nullptr && queue_.next_time() > end) {  // mostly
      MoveTo(end);
    } else {
      Advance(end);
    }
    Charged(now() - before);
  }
  // Runs the events that are due now. On the virtual clock nothing is due but by Charge and
  // WaitUntil.
  void RunDue() {
    if (real() && !queue_.empty()) RunReal();
  }
  // Runs for `duration`, or until `done` holds after some event; returns whether it holds.
  // REQUIRES of both: the virtual clock.
  bool RunUntil(const std::function<bool()>& done, coro::Duration duration);
  void RunFor(coro::Duration duration);

  // Something happened that a program can see.
  void Wake() { woken_ = true; }
  // Whether it did since the last call; for code that runs the world by RunFor.
  bool TakeWake() { return std::exchange(woken_, false); }
  // kNever: nothing is going to happen by itself.
  coro::Time next_event() const { return queue_.next_time(); }
  // Whether something is going to happen by itself, or on the network.
  bool under_way() const { return !queue_.empty() || (pool_ != nullptr && !pool_->empty()); }
  // Rises when something happens, and when the program looks at the time: while it does not, and
  // nothing is under way, polling is in vain.
  std::uint64_t news() const { return event_count_ + looks_; }
  // Events that have happened.
  std::uint64_t event_count() const { return event_count_; }

  // Called when a program waits for ever, and nothing can ever happen.
  void OnStuck(std::function<void()> handler) { on_stuck_ = std::move(handler); }

 private:
  class Backstage final : public coro::Clock {
   public:
    explicit Backstage(Timeline& timeline) : timeline_(timeline) {}
    coro::Time Now() const override { return timeline_.Look(); }
    bool WaitUntil(coro::Time deadline) override { return timeline_.WaitUntil(deadline); }
    bool IsVirtual() const override { return timeline_.IsVirtual(); }

   private:
    Timeline& timeline_;
  };

  // Wakes the program.
  class Alarm final : public Actor {
   public:
    explicit Alarm(Timeline& timeline) : timeline_(timeline) {}
    std::uint32_t index() const override { return kNoActor; }
    void OnEvent(const Event& /*event*/) override { timeline_.Wake(); }

   private:
    Timeline& timeline_;
  };

  void RunReal();
  // The program computes until `time`: runs everything up to then.
  void Advance(coro::Time time) {
    while (queue_.next_time() <= time) RunNext();
    MoveTo(time);
    if (pool_ != nullptr && pool_->Charged()) [[unlikely]] {
      StepScheduled(coro::kNever);
    }
  }
  void RunNext() {
    const Event event = queue_.Pop();
    MoveTo(event.time);
    if (pool_ != nullptr) [[unlikely]] {
      pool_->Happens(event.kind);
    }
    Happen(event);
  }
  void Happen(const Event& event) {
    ++event_count_;
    if (log_ != nullptr) {
      log_->Append({.time = elapsed(),
                    .kind = event.kind,
                    .actor = event.actor->index(),
                    .packet = event.a,
                    .operation = event.b});
    }
    event.actor->OnEvent(event);
  }
  bool StepScheduled(coro::Time deadline);
  void RunPicked(const Step& picked);

  EventLog* const log_;
  EventQueue queue_;
  std::unique_ptr<StepPool> pool_;  // null: times are drawn
  std::uint64_t event_count_ = 0;
  bool woken_ = false;
  mutable std::uint64_t looks_ = 0;  // of the program, at the time
  Alarm alarm_{*this};
  Backstage backstage_{*this};
  std::function<void()> on_stuck_;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_EVENTS_TIMELINE_H_
