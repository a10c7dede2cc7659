// Completion counters: two numbers that the device raises, in memory of its own or of the program's.

#ifndef DRYDOCK_SIM_VERBS_COMPLETION_COUNTER_H_
#define DRYDOCK_SIM_VERBS_COMPLETION_COUNTER_H_

#include <cstdint>
#include <memory>

#include "drydock/sim/device/completion_counters.h"
#include "drydock/sim/verbs/external_memory.h"
#include "drydock/sim/verbs/newer_abi.h"
#include "drydock/sim/verbs/objects.h"

namespace drydock::sim::verbs {

// Where one of the numbers is for the program.
struct CounterPlace {
  std::uint64_t own = 0;
  ExternalMemory dmabuf;
  std::uint64_t* word = &own;  // that the device writes
  bool readable = true;        // the program gave an address of it, or none is needed
};

// An open counter, one of those that the device has. Guarded by the context's mutex.
struct Counter : CompCntr {
  explicit Counter(Context& opened_on) : CompCntr{}, owner(opened_on) {}
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;

  Context& owner;
  std::shared_ptr<CounterCore> core;
  CounterPlace successes;
  CounterPlace failures;
  std::uint32_t users = 0;  // queue pairs that raise it
};

}  // namespace drydock::sim::verbs

#endif  // DRYDOCK_SIM_VERBS_COMPLETION_COUNTER_H_
