// A source of events that a loop asks what became ready: a completion queue, a set of file
// descriptors.
//
// Ownership: the loop does not own its selectors; each is removed from the loop before it dies.
// Threads: called on the loop's thread only. Blocking: only Wait may block.

#ifndef DRYDOCK_CORO_SELECTOR_H_
#define DRYDOCK_CORO_SELECTOR_H_

#include <cstddef>
#include <string>

#include "drydock/coro/time.h"

namespace drydock::coro {

class Selector {
 public:
  virtual ~Selector() = default;

  // Handles at most about `budget` events, scheduling on the current loop the coroutines that they
  // wake; never blocks. Returns how many events it handled; 0 means that there was nothing to do.
  // An event that carries a failure is an ordinary event: it goes to its own waiter, and nothing is
  // thrown.
  virtual std::size_t Poll(std::size_t budget) = 0;

  // Orphans: operations that have not ended, and whose task has let go of them (it was destroyed,
  // cancelled, or its deadline came). A line, with its end, for all of a kind and a place: how many
  // there are, and where they were awaited. Empty, the default: there are none. For the loop's
  // reports, also when the selector is removed.
  virtual std::string DescribeOrphans() const { return {}; }

  // Blocks until an event may be ready or the loop's clock reaches `deadline` (kNever: no limit),
  // without using the CPU; may return early. Returns false at once when this source can only be
  // polled, which is the default.
  virtual bool Wait(Time deadline) {
    static_cast<void>(deadline);
    return false;
  }
};

}  // namespace drydock::coro

#endif  // DRYDOCK_CORO_SELECTOR_H_
