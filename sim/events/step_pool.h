// The steps on the network of which a scheduler picks the next (sim/events/scheduler.h).

#ifndef DRYDOCK_SIM_EVENTS_STEP_POOL_H_
#define DRYDOCK_SIM_EVENTS_STEP_POOL_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "drydock/coro/time.h"
#include "drydock/sim/events/event.h"
#include "drydock/sim/events/scheduler.h"

namespace drydock::sim {

// Not thread-safe: belongs to a timeline.
class StepPool {
 public:
  explicit StepPool(Scheduler& scheduler) : scheduler_(scheduler) {}

  // An event is scheduled. Keeps one that the scheduler may pick: one of the network. False: the
  // event keeps its time, for it is a device's own work or a timer.
  bool Take(const Event& event);

  bool empty() const { return entries_.empty(); }

  // The steps that could happen next, in the order of operation, kind and packet; each once.
  std::vector<Step> Steps() const;

  // Asks the scheduler, after forgetting steps that have become pointless, and leaving out those of
  // calm operations that have others before them. `now`: since the world
  // began. Absent: nothing is under way, or the scheduler lets time pass (then `resumes` says until
  // when).
  struct Choice {
    std::optional<Step> step;
    bool waits = false;
  };
  Choice Pick(coro::Duration now);
  coro::Duration resumes() const { return scheduler_.resumes(); }

  // Removes and returns an event that is this step and not pointless; absent: there is none left.
  std::optional<Event> Remove(const Step& step);

  // A picked step includes the steps that follow from it.
  bool takes_whole_operations() const { return scheduler_.grain() == Grain::kOperations; }

  // An event of this kind happens. Counts, with Take, the NICs that are about to put packets into
  // the pool.
  void Happens(EventKind kind) {
    if (kind == EventKind::kTransmit && transmits_ > 0) --transmits_;
  }
  bool more_to_come() const { return transmits_ > 0; }

  // The program waits. It computes: true now and then, when it has done so much without waiting
  // that it polls for something, and the network has to go on.
  void Waits() { charges_ = 0; }
  bool Charged();

 private:
  struct Entry {
    Event event;
    Step step;
  };

  Scheduler& scheduler_;
  std::vector<Entry> entries_;
  std::uint32_t transmits_ = 0;
  std::uint32_t charges_ = 0;  // since the program last waited
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_EVENTS_STEP_POOL_H_
