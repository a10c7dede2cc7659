// What a world with a scheduler keeps for it: a part of sim/world.h.

#ifndef SIM_SCHEDULING_H_
#define SIM_SCHEDULING_H_

#include <cstdint>
#include <vector>

#include "sim/event_queue.h"
#include "sim/scheduler.h"
#include "sim/world.h"

namespace sim {

struct World::Scheduling {
  struct Entry {
    Event event;
    Step step;
  };
  explicit Scheduling(Scheduler& who) : scheduler(who) {}

  Scheduler& scheduler;
  std::vector<Entry> pool;
  std::vector<Step> ready;  // for the scheduler's eyes
  std::uint64_t next_sequence = 0;
  std::uint32_t transmits = 0;  // events that put more into the pool
  std::uint32_t charges = 0;    // since the program last waited
};

}  // namespace sim

#endif  // SIM_SCHEDULING_H_
