// The points at which a device asks a fault plan, and the plan's possible answers. It answers with
// values, and the device acts on them.
//
//   post ─► OnFetch ─► OnDeparture, OnFlight ─► OnArrival ─► OnPlacement ─► OnWritten ─► OnEnd ─┐
//           when it    each packet              at the       each packet    of a         the    │
//           is served  on its way               target       in memory      write        answer │
//                                                 │             each entry: OnCompletion ◄──────┘
//                                                 └► OnReceive: a message takes a receive
//                                                    OnImmediate: of a write
//   open ─► OnOpenEndpoint, OnOpenCompletionQueue        insert a peer ─► OnInsertPeer
//
// No fault forges the completions that a program reads: a packet is late, bytes are not where they
// should be, a device answers with a failure, and the rest follows as it does without a plan.

#ifndef DRYDOCK_SIM_DEVICE_FAULT_POINTS_H_
#define DRYDOCK_SIM_DEVICE_FAULT_POINTS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "drydock/coro/time.h"
#include "drydock/fabric/limits.h"
#include "drydock/sim/device/completion_ring.h"
#include "drydock/sim/device/nic_state.h"
#include "drydock/sim/device/operation.h"
#include "drydock/sim/device/queue_pair.h"
#include "drydock/sim/efa_address.h"
#include "drydock/sim/efa_status.h"
#include "drydock/sim/memory/segment.h"
#include "drydock/sim/network/wire.h"

namespace drydock::sim {

// An operation ends with this status, after a delay.
struct Failure {
  EfaStatus status = EfaStatus::kOk;
  coro::Duration delay{};
};

// When a work request that was fetched is served.
struct FetchVerdict {
  enum class When : std::uint8_t {
    kNow,
    kLater,        // after `delay`
    kAfterOthers,  // when `others` later ones of its queue pair were served, if they come
    kNever,        // it fails
  };
  When when = When::kNow;
  coro::Duration delay{};
  std::int64_t others = 0;
  Failure failure;
};

// The fate of the machine that a packet is about to leave, and of the packet with it.
struct DepartureVerdict {
  enum class Machine : std::uint8_t { kWorks, kNicDies, kNicResets, kPauses };
  Machine machine = Machine::kWorks;  // kPauses: for `delay`
  bool leaves = true;                 // false: the packet is lost
  coro::Duration delay{};             // before it leaves
  std::uint32_t retransmissions = 0;
};

// A part of a packet's bytes that is placed at a time of its own.
struct PlacementStep {
  coro::Duration later{};
  Range range;  // of the payload
};

// Bits of an operation's payload that are wrong in memory.
struct FlippedBits {
  std::uint64_t byte = 0;  // of the payload
  std::byte mask{};
};

// How the bytes of a packet, or of a message, reach memory.
struct PlacementVerdict {
  bool as_usual = true;              // false: by `steps`
  bool region_closes = false;        // the target's registration ends before
  std::vector<PlacementStep> steps;  // none: nothing is placed
  std::uint32_t second_copies = 0;   // of those steps
  std::vector<FlippedBits> flipped;  // when all steps are done
};

// When the entry of a completion is written.
struct CompletionVerdict {
  enum class When : std::uint8_t {
    kNow,
    kLater,        // after `delay`
    kAfterOthers,  // when `others` entries were written to its queue, after `delay` at the latest
    kNever,        // it is lost
    kOverrun,      // it is lost, as if the queue had been full
  };
  When when = When::kNow;
  coro::Duration delay{};
  std::int64_t others = 0;
  std::uint32_t repeats = 0;  // of an unsolicited immediate: it is written so often again
};

// The fate of a receive that a message takes.
struct ReceiveVerdict {
  std::optional<Failure> failure;  // the receive fails
  std::uint64_t placed_bytes = 0;  // of the message, before that
  CompletionVerdict completion;
};

// The part of a packet that another process is to be given (sim/hosts).
struct ForwardVerdict {
  std::uint64_t kept_bytes = 0;      // from the packet's first one on
  bool announces = true;             // false: its operation's immediate must not appear
  std::vector<FlippedBits> flipped;  // within the packet
};

// Of one world. Not thread-safe. A point that concerns an operation may mark it
// (Operation::faulted); where a comment says *marked*, it is asked about marked operations only.
class FaultPoints {
 public:
  virtual ~FaultPoints() = default;

  // --- The initiator ---
  // A work request has left its ring. `sound`: it passed the local checks; the verdict counts only
  // then. It may mark the operation.
  virtual FetchVerdict OnFetch(const QueuePair& queue_pair, Operation& operation, bool sound) = 0;

  // --- The network ---
  // A packet is about to leave `from`.
  virtual DepartureVerdict OnDeparture(const NicState& from, const Operation& operation,
                                       DrawPurpose purpose) = 0;
  // It has left, and would travel like this. May change the flight, and mark the operation.
  virtual void OnFlight(const NicState& from, Operation& operation, DrawPurpose purpose,
                        Flight& flight) = 0;

  // --- The target ---
  // The fate of an operation at its target.
  struct ArrivalVerdict {
    std::optional<Failure> failure;  // it does nothing more there
    std::uint64_t placed_bytes = 0;  // of its message: they reach the next receive
  };
  // The operation is about to do something at its target, `nic`. Marked.
  virtual ArrivalVerdict OnArrival(const NicState& nic, const Operation& operation) = 0;
  // A message is about to take a receive.
  virtual ReceiveVerdict OnReceive(const NicState& nic, const Operation& operation) = 0;

  // --- Memory ---
  // These bytes are about to be placed in the memory of `nic`'s machine. Marked.
  virtual PlacementVerdict OnPlacement(const NicState& nic, const Operation& operation,
                                       Range range) = 0;
  // Every byte of a write is where it belongs, as far as the device knows. False: some are missing,
  // so that no immediate may appear. Marked.
  virtual bool OnWritten(const Operation& operation) = 0;

  // --- The end ---
  // The operation is about to succeed. A failure takes the place of the success. Marked.
  virtual std::optional<Failure> OnEnd(const Operation& operation) = 0;
  // The completion of the operation is about to be reported. Marked.
  virtual CompletionVerdict OnCompletion(const Operation& operation) = 0;
  // The same of its immediate, at the target; may change the entry.
  virtual CompletionVerdict OnImmediate(const NicState& nic, const Operation& operation,
                                        DeviceCompletion& completion) = 0;

  // --- The driver ---
  // The queues of an endpoint that is about to be opened may become smaller.
  virtual void OnOpenEndpoint(const NicState& nic, fabric::Limits& limits) = 0;
  // Entries of a completion queue that would have `entries`: a power of two.
  virtual std::size_t OnOpenCompletionQueue(const NicState& nic, std::size_t entries) = 0;
  // The request was posted without a context: the device does not see that.
  virtual void OnPostWithoutContext(const QueuePair& queue_pair, std::uint16_t request_id) = 0;
  // An address was inserted. A positive delay: its device does not know the peer for so long.
  virtual coro::Duration OnInsertPeer(const NicState& nic, const EfaAddress& address) = 0;

  // --- Other processes (sim/hosts) ---
  // A packet of the operation, with this part of its payload, is about to go to another process.
  // Marked.
  virtual ForwardVerdict OnForward(const Operation& operation, Range range) = 0;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DEVICE_FAULT_POINTS_H_
