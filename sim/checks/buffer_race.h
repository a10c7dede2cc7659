// buffer-race: nothing else changes the memory that a request in flight reads or writes.
//
//   its source       is the same at the post and at the device's last look at it
//   what it writes   no other request in flight writes, unless both write the same there
//
// Two requests are in flight at once only where the second was posted before the device was done
// with the first: nothing that a program can know orders such a pair. So no pair that is ordered by
// a completion, by an immediate or by a message that came after it is ever taken for a race.

#ifndef DRYDOCK_SIM_CHECKS_BUFFER_RACE_H_
#define DRYDOCK_SIM_CHECKS_BUFFER_RACE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "drydock/sim/checks/finding_log.h"
#include "drydock/sim/checks/registrations.h"
#include "drydock/sim/checks/watched_queue.h"
#include "drydock/sim/checks/write_index.h"
#include "drydock/sim/memory/memory_bus.h"

namespace drydock::sim {

// Not thread-safe: belongs to its world. Allocates nothing for a request in host
// memory; looks at a device's through copies.
class BufferRace {
 public:
  // `queues`: those that are open, in the whole world.
  BufferRace(FindingLog& log, const Registrations& registrations, const WatchedQueues& queues,
             const MemoryBus& bus)
      : log_(log), registrations_(registrations), queues_(queues), bus_(bus) {}

  // The request is in flight from now on. `inline_bytes`: where its bytes are when they were
  // copied; else null.
  void Posted(WatchedRequest& request, const std::byte* inline_bytes);
  // A message of `length` bytes lands at the beginning of a receive's first piece, `at`. `bytes`:
  // the message, or null when it is not in one piece.
  void Lands(WatchedRequest& receive, const WatchedPiece& at, const std::byte* bytes);
  // The device touches the memory of a send, write or read no more. `well`: it did all it had to.
  void Ended(WatchedRequest& request, bool well);
  // The request is forgotten, with its endpoint or because its completion was read.
  void Forget(WatchedRequest& request) { writes_.Remove(request); }

 private:
  bool CanLand(const WatchedRequest& request) const;
  bool SourceIsThere(const WatchedRequest& request) const;
  std::uint64_t HashOfSource(const WatchedRequest& request) const;
  const std::byte* BytesOf(const WatchedRequest& request) const;
  bool WriteTheSame(const WatchedRequest& a, const std::byte* a_bytes,
                    const WatchedRequest& b) const;
  void Write(WatchedRequest& request, const WatchedPiece& target, const std::byte* bytes);

  FindingLog& log_;
  const Registrations& registrations_;
  const WatchedQueues& queues_;
  const MemoryBus& bus_;
  WriteIndex writes_;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_CHECKS_BUFFER_RACE_H_
