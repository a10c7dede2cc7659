// Completions that exist and cannot be seen yet.

#ifndef DRYDOCK_FABRIC_FAULTS_HELD_COMPLETIONS_H_
#define DRYDOCK_FABRIC_FAULTS_HELD_COMPLETIONS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "drydock/coro/time.h"
#include "drydock/fabric/faults/plan.h"
#include "drydock/fabric/faults/tracked_operations.h"
#include "drydock/fabric/operation.h"

namespace drydock::fabric::faults {

struct HeldCompletion {
  Completion completion;
  coro::Time due;                     // seen from then on,
  std::int64_t behind = 0;            // or when so many others were seen; 0: only by time
  const FaultRule* rule = nullptr;    // that made it an error, or null
  EndpointState* endpoint = nullptr;  // whose operation it is; null: not known
  bool unposted = false;              // the fabric below never had the operation
  Peer peer{};                        // that it was for
};

// The completions that a rule delays, of one queue. Each becomes visible at its time, or after a
// number of later completions, which is how completions are reordered. Threads: one at a time, as
// the queue. Few are held at once, at most as many as operations are in flight, so a search is a
// walk over all.
class HeldCompletions {
 public:
  // Holds a completion. `held.due` may lie in the past: the next TakeDue returns it then.
  void Add(const HeldCompletion& held) {
    if (held.behind > 0) ++counting_;
    next_due_ = std::min(next_due_, held.due);
    held_.push_back(held);
  }

  // When the next one can be seen; kNever: none is held.
  coro::Time next_due() const { return next_due_; }

  // Another completion of the queue was seen.
  void OtherSeen(coro::Time now) {
    if (counting_ == 0) return;
    for (HeldCompletion& held : held_) {
      if (held.behind == 0 || --held.behind > 0) continue;
      --counting_;
      held.due = std::min(held.due, now);
      next_due_ = std::min(next_due_, held.due);
    }
  }

  // Calls take(held) for at most `room` that can be seen at `now`, in the order in which they were
  // held. Returns how many.
  template <typename Take>
  std::size_t TakeDue(coro::Time now, std::size_t room, Take take) {
    if (now < next_due_ || room == 0) return 0;
    std::size_t taken = 0;
    std::erase_if(held_, [&](const HeldCompletion& held) {
      if (held.due > now || taken == room) return false;
      if (held.behind > 0) --counting_;
      ++taken;
      take(held);
      return true;
    });
    FindNextDue();
    return taken;
  }

  // The endpoint closes: its completions are never shown.
  void RemoveAllOf(const EndpointState* endpoint) {
    std::erase_if(held_, [&](const HeldCompletion& held) {
      if (held.endpoint != endpoint) return false;
      if (held.behind > 0) --counting_;
      return true;
    });
    FindNextDue();
  }

 private:
  void FindNextDue() {
    next_due_ = coro::kNever;
    for (const HeldCompletion& held : held_) next_due_ = std::min(next_due_, held.due);
  }

  std::vector<HeldCompletion> held_;
  coro::Time next_due_ = coro::kNever;
  std::size_t counting_ = 0;  // how many wait for others to be seen
};

}  // namespace drydock::fabric::faults

#endif  // DRYDOCK_FABRIC_FAULTS_HELD_COMPLETIONS_H_
