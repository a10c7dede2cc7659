// The time, and a way to be woken at some: all that the protocol needs of the world.

#ifndef DRYDOCK_SIM_RDM_ALARM_H_
#define DRYDOCK_SIM_RDM_ALARM_H_

#include "drydock/coro/time.h"

namespace drydock::sim::rdm {

// Ownership: shared by everything that is opened on one fabric. Threads: the fabric's. Blocking:
// never.
class Alarm {
 public:
  virtual ~Alarm() = default;

  // The time of the world, which never decreases.
  virtual coro::Time Now() const = 0;

  // Makes an idle program read its completion queues at `time`, or soon after: progress is made
  // there only.
  virtual void WakeAt(coro::Time time) = 0;
};

}  // namespace drydock::sim::rdm

#endif  // DRYDOCK_SIM_RDM_ALARM_H_
