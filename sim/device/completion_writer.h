// Writes a NIC's reports: an entry in a completion queue for each work request, receive and
// immediate.

#ifndef DRYDOCK_SIM_DEVICE_COMPLETION_WRITER_H_
#define DRYDOCK_SIM_DEVICE_COMPLETION_WRITER_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "drydock/coro/time.h"
#include "drydock/sim/device/completion_ring.h"
#include "drydock/sim/device/fault_points.h"
#include "drydock/sim/device/nic_state.h"
#include "drydock/sim/device/queue_pair.h"
#include "drydock/sim/device/surroundings.h"

namespace drydock::sim {

// Of one NIC. Not thread-safe. Its constructor's arguments outlive it.
class CompletionWriter {
 public:
  enum class Queue : std::uint8_t { kSend, kReceive };

  CompletionWriter(NicState& nic, Surroundings& around) : nic_(nic), around_(around) {}

  // Writes an entry for the queue pair to one of its completion queues, and wakes the program. If it
  // finds the queue full, an entry is lost for good, and counted: see CompletionRing.
  void Write(const QueuePair& queue_pair, Queue queue, const DeviceCompletion& completion);

  // The same at the time that a fault plan wants; never if the queue pair is gone by then.
  void Write(const QueuePair& queue_pair, Queue queue, const DeviceCompletion& completion,
             const CompletionVerdict& verdict);

 private:
  // An entry that waits until others of its ring were written.
  struct Held {
    std::uint64_t number;
    const CompletionRing* ring;
    std::int64_t left;
    std::function<void()> write;
  };

  static CompletionRing& RingOf(const QueuePair& queue_pair, Queue queue);
  void Tell(const CompletionRing& ring, const DeviceCompletion& completion, EntryFate fate);
  void Hold(const CompletionRing& ring, const CompletionVerdict& verdict,
            std::function<void()> write);
  void Release(std::uint64_t number);
  // An entry was written to this ring: those that waited for it follow.
  void CountDown(const CompletionRing& ring);

  NicState& nic_;
  Surroundings& around_;
  std::vector<Held> held_;
  std::uint64_t next_held_ = 0;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DEVICE_COMPLETION_WRITER_H_
