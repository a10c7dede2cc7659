// conservation: a request that was accepted ends in exactly one completion, and nothing else does.
//
// Holds the simulator to its word: no program can break it. A completion that a fault plan takes
// away, that found its queue full (see completion-queue-capacity), or whose machine died is
// excused; so is a request that was not rung for.

#ifndef DRYDOCK_SIM_CHECKS_CONSERVATION_H_
#define DRYDOCK_SIM_CHECKS_CONSERVATION_H_

#include <cstdint>

#include "drydock/sim/checks/finding_log.h"
#include "drydock/sim/checks/watched_queue.h"

namespace drydock::sim {

// Not thread-safe: belongs to its world.
class Conservation {
 public:
  explicit Conservation(FindingLog& log) : log_(log) {}

  // The driver put a request into this slot of its queue.
  void Posted(WatchedRequest& request, std::uint16_t id, fabric::OperationKind kind) {
    if (request.in_flight()) [[unlikely]]
      SlotInUse(*request.queue, id);
    request.id = id;
    request.kind = kind;
    request.state = WatchedRequest::State::kPosted;
  }
  // The device wrote an entry for the request with this number.
  void Reported(WatchedQueue& queue, bool receive, std::uint16_t id);
  // The program has read it: the request is forgotten. Null when there was none.
  WatchedRequest* Read(WatchedQueue& queue, bool receive, std::uint16_t id);
  // The queue's requests that the device still has were marked as under way: every other that waits
  // for a completion waits in vain. Takes the marks off.
  void Audit(WatchedQueue& queue);

 private:
  void SlotInUse(const WatchedQueue& queue, std::uint16_t id);
  void Audit(const WatchedQueue& queue, WatchedRequest& request, WatchedRequest::State waits);

  FindingLog& log_;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_CHECKS_CONSERVATION_H_
