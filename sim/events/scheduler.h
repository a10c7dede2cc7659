// A scheduler picks the network's next step.
//
// Without a scheduler, packets and answers take the times that are drawn from the seed, and the
// order in which things happen follows from those. With one, everything that is on the network is
// in a pool; whenever the program waits, the scheduler picks the next step:
//
//   program posts ──► NIC sends ──► pool of steps ──Pick──► one happens ──► program reacts ──► ...
//
// That is all that is legal on EFA, which promises no order and no time: a packet may stay on its
// way for ever while another one, of the same queue pair, overtakes it. The strategies are in
// sim/explore/strategy/.

#ifndef DRYDOCK_SIM_EVENTS_SCHEDULER_H_
#define DRYDOCK_SIM_EVENTS_SCHEDULER_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include "drydock/coro/time.h"
#include "drydock/fabric/operation.h"
#include "drydock/sim/events/event.h"

namespace drydock::sim {

// Bytes [begin, end) of one machine that a step uses. All of them: for a step that its program can
// notice, because the program may then look at every byte.
struct Touch {
  std::uint32_t machine = 0;
  bool writes = false;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;  // equal to begin: nothing

  static Touch All(std::uint32_t machine) { return {machine, true, 0, UINT64_MAX}; }

  friend bool operator==(const Touch&, const Touch&) = default;
};

// A possible next step of one operation: a packet arrives, its rest lands, an answer comes back.
struct Step {
  std::uint64_t operation = 0;          // its sequence (sim/device/operation.h)
  EventKind kind = EventKind::kArrive;  // what happens
  std::uint32_t packet = 0;             // to which packet: number and flags
  fabric::OperationKind request = fabric::OperationKind::kSend;
  bool calm = false;                // the operation keeps its turn (sim/network/undisturbed.h)
  std::uint32_t initiator = 0;      // index of the NIC
  std::uint16_t queue_pair = 0;     // of the initiator
  std::uint32_t target = kNoActor;  // index of the NIC
  std::uint32_t initiator_machine = 0;
  std::uint32_t target_machine = 0;  // the initiator's where there is no target
  std::array<Touch, 2> touches{};

  // The same step, perhaps in another run that has been equal so far.
  friend bool operator==(const Step& a, const Step& b) {
    return a.operation == b.operation && a.kind == b.kind && a.packet == b.packet;
  }
};

// Whether it makes no difference to any program which of two steps happens first: they belong to
// different operations, and use no byte in common that one of them writes. Presumes that the
// programs of different machines share nothing but the network.
bool AreIndependent(const Step& a, const Step& b);

// The size of a step.
enum class Grain : std::uint8_t {
  kPackets,     // each packet, each piece of one, each answer
  kOperations,  // an operation, from its first byte at the target to its completion
};

// Not thread-safe: belongs to one world. Must not touch it.
class Scheduler {
 public:
  virtual ~Scheduler() = default;

  static constexpr std::size_t kNobody = SIZE_MAX;

  virtual Grain grain() const { return Grain::kPackets; }

  // Called when the program waits and something is on the network. Returns which step of `ready`,
  // which is never empty, happens now. They come in the order of operation, kind and packet; of the
  // calm operations of a NIC only the first step of each kind is among them.
  // kNobody: time passes, up to `resumes` at most, and then it is called again. `now`: since the
  // world began.
  virtual std::size_t Pick(std::span<const Step> ready, coro::Duration now) = 0;

  // After kNobody: when to ask again, since the world began; later than the last `now`.
  virtual coro::Duration resumes() const { return coro::Duration::max(); }

  // Whether it has kept a program waiting for so long that the program may rightly give up.
  virtual bool explains_errors() const { return false; }

  // Called once, when the program has ended, with the steps that were never picked.
  virtual void Ended(std::span<const Step> /*under_way*/) {}
};

// By how much a picked step moves the clock.
inline constexpr coro::Duration kStepTime = std::chrono::microseconds(1);

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_EVENTS_SCHEDULER_H_
