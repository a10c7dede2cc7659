// Actions that a fault plan delays (sim/device/fault_points.h).

#ifndef DRYDOCK_SIM_EVENTS_DEFERRED_ACTIONS_H_
#define DRYDOCK_SIM_EVENTS_DEFERRED_ACTIONS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "drydock/coro/time.h"
#include "drydock/sim/events/actor.h"
#include "drydock/sim/events/event.h"
#include "drydock/sim/events/timeline.h"

namespace drydock::sim {

// Not thread-safe: belongs to its world. The timeline outlives it.
class DeferredActions final : public Actor {
 public:
  explicit DeferredActions(Timeline& timeline) : timeline_(timeline) {}

  // `action` is called after `delay`, never before this returns.
  void After(coro::Duration delay, std::function<void()> action) {
    actions_.emplace(next_, std::move(action));
    timeline_.After(delay, this, EventKind::kDeferred, 0, next_++);
  }

  bool empty() const { return actions_.empty(); }

  // --- Actor ---
  std::uint32_t index() const override { return kNoActor; }
  void OnEvent(const Event& event) override {
    const auto found = actions_.find(event.b);
    const std::function<void()> action = std::move(found->second);
    actions_.erase(found);
    action();
  }

 private:
  Timeline& timeline_;
  std::map<std::uint64_t, std::function<void()>> actions_;  // by number
  std::uint64_t next_ = 0;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_EVENTS_DEFERRED_ACTIONS_H_
