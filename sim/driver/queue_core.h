// A completion queue, for the handle that a program owns and the endpoints that complete there.

#ifndef DRYDOCK_SIM_DRIVER_QUEUE_CORE_H_
#define DRYDOCK_SIM_DRIVER_QUEUE_CORE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "drydock/fabric/efa_queue/cqe.h"
#include "drydock/fabric/fabric.h"
#include "drydock/sim/device/completion_ring.h"
#include "drydock/sim/device/one_thread.h"
#include "drydock/sim/driver/domain_core.h"

namespace drydock::sim {

class SimEndpoint;

// A completion ring, and the endpoints whose completions arrive in it.
struct QueueCore {
  QueueCore(std::shared_ptr<DomainCore> owner, std::shared_ptr<CompletionRing> entries)
      : domain(std::move(owner)), ring(std::move(entries)) {}
  QueueCore(const QueueCore&) = delete;
  QueueCore& operator=(const QueueCore&) = delete;
  ~QueueCore() { domain->nic.admin().DestroyCompletionRing(); }

  // Takes the completions that a program is to see, as many as there are and fit; returns how many.
  // Most polls find nothing, and cost no more than this look.
  std::size_t Take(std::span<fabric::Completion> completions) {
    if (ring->empty() && kept.empty() && staged.empty()) return 0;
    return TakeSome(completions);
  }

  // Moves up to `most` entries from the ring to `staged`, where Take finds them. Request slots stay
  // taken until it does: fabric/libfabric, too, keeps a request until its completion was read.
  void Stage(std::size_t most);

  // To be called before an endpoint closes. Drops its completions, because its queue pair number
  // and request ids will be reused, and keeps those of the other endpoints.
  void Forget(std::uint16_t queue_pair);

  std::shared_ptr<DomainCore> domain;
  std::shared_ptr<CompletionRing> ring;
  std::vector<SimEndpoint*> endpoints;  // index = queue pair number; null when closed
  struct Kept {
    std::uint16_t queue_pair;
    fabric::Completion completion;
  };
  std::deque<Kept> kept;                             // read from the ring ahead of time
  std::deque<fabric::efa_queue::Completion> staged;  // taken from it later, not yet read
  OneThread users;  // one thread at a time, together with its endpoints: fabric/endpoint.h

 private:
  // Take, where there may be something.
  std::size_t TakeSome(std::span<fabric::Completion> completions);
  // Takes the next entry out of the ring, and counts it; false: there is none. Sets `owner` to the
  // entry's endpoint, or to null if that endpoint is not open.
  bool TakeEntry(fabric::efa_queue::Completion& entry, SimEndpoint*& owner);
};

// A call into a completion queue, or into an endpoint and its completion queues. Tells the
// observers when two threads are inside at the same time.
class QueueCall {
 public:
  explicit QueueCall(QueueCore& queue) { Come(queue, nullptr, queue.ring->number(), false); }
  // `queue_pair`: its number.
  QueueCall(QueueCore& sends, QueueCore& receives, std::uint32_t queue_pair) {
    Come(sends, &receives == &sends ? nullptr : &receives, queue_pair, true);
  }

 private:
  void Come(QueueCore& queue, QueueCore* other, std::uint32_t number, bool queue_pair) {
    const Observers& observers = queue.domain->world.observers();
    if (!observers.any()) return;
    bool alone = visit_.Enter(queue.users);
    if (other != nullptr && !other_.Enter(other->users)) alone = false;
    if (!alone) [[unlikely]] {
      observers.Tell<&Observer::OnTwoThreads>(queue.domain->nic.state(), number, queue_pair);
    }
  }

  Visit visit_;
  Visit other_;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DRIVER_QUEUE_CORE_H_
