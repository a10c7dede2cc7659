// Counters whose numbers the NIC writes where the program wants them: for a thread or a device that
// waits on a word of memory and calls nothing.
//
//   alignas(8) std::uint64_t arrived = 0;
//   fabric::CounterMemory memory;
//   memory.successes = {.data = reinterpret_cast<std::byte*>(&arrived), .length_bytes = 8};
//   auto* power = domain.power<fabric::CountersInMemory>();   // null: there are none
//   auto counter = power->OpenCounterIn(memory);                   // bind it as any other
//
// EFA promises little: a number is raised after the bytes of the operation that it counts are
// there, and says nothing of other operations. A device that sees a NIC's writes later sees the
// number no sooner than those bytes.

#ifndef DRYDOCK_FABRIC_COUNTER_MEMORY_H_
#define DRYDOCK_FABRIC_COUNTER_MEMORY_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "drydock/fabric/capability.h"
#include "drydock/fabric/counter.h"
#include "drydock/fabric/memory.h"

namespace drydock::fabric {

// Bytes of a number in memory: 64 bits, in the order of the machine.
inline constexpr std::size_t kCounterWordBytes = 8;

// Where the two numbers of a counter go: host memory, or memory of a device by its address or by a
// dmabuf. With data null: to memory of the backend, from which Counter reads it. `access` does not
// matter.
struct CounterMemory {
  MemoryRequest successes;
  MemoryRequest failures;
};

// A power of domains whose NIC counts by itself. Threads: as the domain.
class CountersInMemory {
 public:
  static constexpr PowerId kPower{"counters_in_memory"};

  virtual ~CountersInMemory() = default;

  // A counter of the NIC itself, at 0: it counts peers' plain writes and reads, too. Its words are
  // aligned to 8 bytes, belong to the program, outlive the counter, and hold what the program left
  // there until something is counted or set: the NIC then stores its number. Only the counter's
  // functions may change it. Read and ReadErrors of a number in a device's memory give 0.
  // kInvalidArgument: a word that is no such memory. kResourceExhausted: the NIC has no counter
  // left, of 512 on EFA. kUnimplemented: this library or NIC cannot do it.
  virtual absl::StatusOr<std::unique_ptr<Counter>> OpenCounterIn(const CounterMemory& memory) = 0;
};

}  // namespace drydock::fabric

#endif  // DRYDOCK_FABRIC_COUNTER_MEMORY_H_
