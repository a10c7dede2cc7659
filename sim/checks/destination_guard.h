// Destinations in flight are the device's: with AddressSanitizer, a program that touches one before
// it has read the completion ends at that line. Without the sanitizer nothing is kept and nothing
// is done.
//
// Memory of a device is its own to guard.
//
// One completion frees all of its memory, although other requests may be in flight there: a program
// may know that no peer sends more.

#ifndef DRYDOCK_SIM_CHECKS_DESTINATION_GUARD_H_
#define DRYDOCK_SIM_CHECKS_DESTINATION_GUARD_H_

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "drydock/fabric/efa_queue/layout.h"
#include "drydock/fabric/memory.h"
#include "drydock/sim/checks/registrations.h"
#include "drydock/sim/checks/watched_queue.h"
#include "drydock/sim/memory/memory_bus.h"
#include "drydock/sim/memory/poison.h"

namespace drydock::sim {

// Not thread-safe: belongs to its world.
class DestinationGuard {
 public:
  DestinationGuard(const Registrations& registrations, const MemoryBus& bus)
      : registrations_(registrations), bus_(bus) {}
  DestinationGuard(const DestinationGuard&) = delete;
  DestinationGuard& operator=(const DestinationGuard&) = delete;
  ~DestinationGuard();

  // The device may write `segments` from now on, for a receive or a read with this number. Memory
  // that it would refuse to write stays the program's.
  void Posted(const WatchedQueue& queue, bool receive, std::uint16_t id,
              std::span<const fabric::efa_queue::BufferDescriptor> segments) {
    if constexpr (kPoisons) Take(queue, receive, id, segments);
  }
  // The program has read its completion.
  void Read(const WatchedQueue& queue, bool receive, std::uint16_t id) {
    if constexpr (kPoisons) Give(queue, receive, id);
  }
  // The device has nothing more to do with any of the queue's requests.
  void Forget(const WatchedQueue& queue) {
    if constexpr (kPoisons) GiveAll(queue);
  }

 private:
  // Both kinds have numbers of their own. Nothing depends on the order.
  using Key = std::tuple<const WatchedQueue*, bool, std::uint16_t>;

  void Take(const WatchedQueue& queue, bool receive, std::uint16_t id,
            std::span<const fabric::efa_queue::BufferDescriptor> segments);
  void Give(const WatchedQueue& queue, bool receive, std::uint16_t id);
  void GiveAll(const WatchedQueue& queue);

  const Registrations& registrations_;
  const MemoryBus& bus_;
  std::map<Key, std::vector<WatchedPiece>> held_;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_CHECKS_DESTINATION_GUARD_H_
