// Something that events happen to: a NIC, a timer, a thread that drives a doorbell.

#ifndef DRYDOCK_SIM_EVENTS_ACTOR_H_
#define DRYDOCK_SIM_EVENTS_ACTOR_H_

#include <cstdint>
#include <optional>

#include "drydock/sim/events/event.h"
#include "drydock/sim/events/scheduler.h"

namespace drydock::sim {

// It lives as long as the timeline that schedules for it.
//
// Rules: OnEvent runs to its end before any other event, except for those that it delivers itself
// without delay; it may schedule events, never in the past; it must not run the event loop of the
// program under test.
class Actor {
 public:
  virtual ~Actor() = default;

  // Which one it is, the same in every run with the same seed: the index of a NIC, or kNoActor.
  virtual std::uint32_t index() const = 0;

  // The event is due.
  virtual void OnEvent(const Event& event) = 0;

  // The step that an event of the network is for a scheduler (sim/events/scheduler.h); absent: it
  // would have no effect, whenever it comes.
  virtual std::optional<Step> Describe(const Event& /*event*/) const { return std::nullopt; }
  // Whether the event would come to nothing by now: its operation has ended meanwhile.
  virtual bool IsPointless(const Event& /*event*/) const { return false; }
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_EVENTS_ACTOR_H_
