// A fault plan at work inside the simulated devices: asks the engine at each point of an
// operation's life, and does to the device what fires.
//
//   doorbell ─► Take ─► HoldsBack ─► Fly, packet by packet ─► Refuses ─► Place ─► Ends ─► Report
//               asks:   later, or    asks: machine, packet    fails at   bytes,   fails   late,
//               held, outcome, not at all                           the target pieces   at its
//               never timing,                                                           end
//               placement
//
// Nothing here forges what a program reads: a packet is late, bytes are not where they should be, a
// device answers with a failure, and the rest follows as it does without a plan. Virtual time only.
//
// The functions are in files by subject: fault_model.cc (what is known of an event, timers),
// machine_faults.cc (machines, links, packets), outcome_faults.cc (how operations end),
// placement_faults.cc (bytes), completion_faults.cc (completions), capacity_faults.cc (sizes).

#ifndef SIM_FAULTS_FAULT_MODEL_H_
#define SIM_FAULTS_FAULT_MODEL_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "coro/time.h"
#include "fabric/faults/engine.h"
#include "fabric/limits.h"
#include "sim/completion_ring.h"
#include "sim/efa_address.h"
#include "sim/efa_status.h"
#include "sim/event_queue.h"
#include "sim/faults/fate.h"
#include "sim/landing.h"
#include "sim/nic.h"
#include "sim/operation.h"
#include "sim/queue_pair.h"
#include "sim/wire.h"

namespace sim {

class World;

// One per world that has an engine. Not thread-safe. An operation that a rule concerns is marked
// (Operation::faulted): the device asks about no other one.
class FaultModel final : public Actor {
 public:
  FaultModel(World& world, std::shared_ptr<fabric::faults::FaultEngine> engine);

  // --- The driver's side ---
  // A driver has put an address into an address vector.
  void Inserted(const Nic& nic, ProtectionDomain domain, const EfaAddress& address);
  // Makes the queues of an endpoint that is about to be opened smaller.
  void Shrink(const Nic& nic, fabric::Limits& limits);
  // Entries of a completion queue that would have `entries`: a power of two.
  std::size_t CompletionQueueEntries(const Nic& nic, std::size_t entries);
  // The request was posted without a context: the device does not see that.
  void PostedWithoutContext(const QueuePair& queue_pair, std::uint16_t request);

  // --- The initiator ---
  // The NIC has taken a work request; `sound`: it passed the local checks.
  void Take(const QueuePair& queue_pair, Operation& operation, bool sound);
  // Whether the operation is not to be served now: later, or not at all.
  bool HoldsBack(Nic& nic, Operation& operation);
  // The last packet of the operation's own has left.
  void Served(const Operation& served);
  // Nobody asks about the operation again.
  void Forget(const Operation& operation) { fates_.erase(operation.id.Pack()); }

  // --- Machines and the network ---
  // As Wire::Send.
  Flight Fly(Nic& from, Nic& to, Operation& operation, PacketKind kind, std::uint32_t packet);
  // Whether the link lets a packet of the operation's initiator pass that looks for a receive
  // again.
  bool LetsRetryPass(const Operation& operation);
  // Until when the NIC's machine does nothing; in the past: it works.
  coro::Time PausedUntil(const Nic& nic) const;
  // Whether the NIC's domain does not know the peer yet, although it has an address handle.
  bool IsStranger(const Nic& nic, ProtectionDomain domain, const Nic& peer) const;

  // --- The target, and memory ---
  // Whether the operation fails here, before it does anything.
  bool Refuses(Nic& nic, QueuePair& target, Operation& operation);
  // The same where the target is in another process: asked before the operation goes there.
  bool RefusesAbroad(Operation& operation);
  // How many bytes of a packet that goes there reach memory, from its first one on; and what is
  // wrong with them.
  std::uint64_t KeptAbroad(const Operation& operation, Range range) const;
  void CorruptAbroad(const Operation& operation, Range range, std::byte* bytes) const;
  // A packet is about to be placed.
  void BeforePlacement(Operation& operation);
  // Whether it places these bytes of a write or read itself. `flags`: as in Nic's events.
  bool Place(Nic& nic, Operation& operation, Range range, std::uint32_t flags);
  // The same for a message.
  bool PlaceMessage(Nic& nic, Operation& operation, Landing& landing);
  // What happens to the receive that takes the operation; true: it fails, and takes nothing.
  bool RefusesReceive(Nic& nic, QueuePair& target, Operation& operation, Landing& landing);

  // --- The end ---
  // Whether the success of the operation becomes a failure, to be seen later.
  bool Ends(Operation& operation);
  // Whether a part of its bytes is missing, so that no immediate may appear.
  bool IsCut(const Operation& operation) const;
  // Whether the completion is not to be reported now: later, or never.
  bool Withholds(Nic& nic, const QueuePair& queue_pair, const Operation& operation,
                 const DeviceCompletion& completion);
  bool WithholdsReceive(Nic& nic, const QueuePair& target, const Fate& fate,
                        const DeviceCompletion& completion);
  // The same for a peer's immediate, which it may change.
  bool WithholdsImmediate(Nic& nic, const QueuePair& target, const Operation& operation,
                          DeviceCompletion& completion);
  // How often a peer's immediate is reported again.
  std::uint32_t FloodsOf(const Operation& operation) const;
  // An entry was written to the ring.
  void Reported(const Nic& nic, const CompletionRing& ring);

  // Whether operations or completions wait for their time here.
  bool HoldsSomething() const { return !timers_.empty() || !held_.empty() || !behind_.empty(); }

  // --- Actor: its timers ---
  std::uint32_t index() const override { return UINT32_MAX; }
  void OnEvent(const Event& event) override;

 private:
  using Point = fabric::faults::Point;
  using Firing = fabric::faults::Firing;
  using EventView = fabric::faults::EventView;

  // A part of a packet's bytes that lands at a time of its own.
  struct Step {
    coro::Duration later{};
    Range range;
  };
  // An operation that waits until others of its queue pair were served.
  struct Behind {
    Nic* nic;
    OperationId operation;
    std::uint16_t queue_pair;
    std::uint32_t qkey;
    std::uint64_t sequence;
    std::int64_t left;
  };
  // A completion that waits until others of its ring were reported.
  struct Held {
    std::uint64_t number;
    Nic* nic;
    const CompletionRing* ring;
    std::int64_t left;
    std::function<void()> release;
  };
  using PeerKey = std::tuple<std::uint32_t, Gid, std::uint16_t, std::uint32_t>;
  using DomainPeer = std::tuple<std::uint32_t, ProtectionDomain, std::uint32_t>;

  // --- fault_model.cc ---
  bool Concerns(Point point, fabric::OperationKind kind) const {
    return engine_->Concerns(fabric::faults::Layer::kDevice, point, kind);
  }
  bool Concerns(Point point) const {
    return engine_->Concerns(fabric::faults::Layer::kDevice, point);
  }
  Firing Decide(Point point, const EventView& view) {
    return engine_->Decide(fabric::faults::Layer::kDevice, point, view);
  }
  EventView ViewOf(const Nic& nic) const;
  // As the initiator sees the operation; as the target does.
  EventView ViewOf(const Operation& operation) const;
  EventView TargetViewOf(const Nic& nic, const Operation& operation) const;
  std::optional<std::uint32_t> NumberOf(const Nic& nic, const Nic* peer, std::uint16_t queue_pair,
                                        std::uint32_t qkey) const;
  void After(coro::Duration delay, std::function<void()> action);
  Fate& FateOf(Operation& operation);
  const Fate* Find(const Operation& operation) const;

  // --- machine_faults.cc ---
  // Whether a packet gets through, and how much later it leaves.
  bool LeavesMachine(Nic& from, const Operation& operation, PacketKind kind, Flight& late);
  void Travel(const Nic& from, Operation& operation, PacketKind kind, Flight& flight);
  static void WaitForLink(const Firing& flap, coro::Duration now, coro::Duration patience,
                          Flight& late);

  // --- outcome_faults.cc ---
  void Fail(Operation& operation, const Fate& fate);

  // --- placement_faults.cc ---
  std::vector<Step> PiecesOf(const Firing& placement, Range range, const Nic& nic) const;
  std::optional<std::vector<Step>> StepsOf(const Fate& fate, const Operation& operation,
                                           Range range, Nic& nic) const;
  void TakeStep(Nic& nic, OperationId id, std::uint32_t flags, Range range,
                const std::shared_ptr<std::size_t>& left);
  void FinishSteps(Nic& nic, Operation& operation, std::uint32_t flags, Range range);
  void LandPiece(Nic& nic, std::uint64_t landing, Range range);

  // --- completion_faults.cc ---
  bool Delays(Nic& nic, const QueuePair& queue_pair, const CompletionRing& ring, const Fate& fate,
              const DeviceCompletion& completion);
  void Hold(Nic& nic, const CompletionRing& ring, const Firing& timing,
            std::function<void()> release);
  void ReleaseHeld(std::uint64_t number);

  World& world_;
  const std::shared_ptr<fabric::faults::FaultEngine> engine_;
  std::map<std::uint64_t, Fate> fates_;  // OperationId::Pack
  std::map<std::uint64_t, std::function<void()>> timers_;
  std::uint64_t next_timer_ = 0;
  std::map<PeerKey, std::uint32_t> peers_;  // NIC and address: the how-manieth it inserted
  std::map<std::uint32_t, std::uint32_t> peer_counts_;
  std::map<DomainPeer, coro::Time> strangers_;              // NIC, domain, peer's NIC: until when
  std::map<std::uint32_t, coro::Time> paused_;              // machine: until when
  std::set<std::pair<std::uint32_t, std::uint32_t>> bare_;  // qkey, request id: without a context
  std::vector<Behind> behind_;
  std::vector<Held> held_;
  std::uint64_t next_held_ = 0;
};

}  // namespace sim

#endif  // SIM_FAULTS_FAULT_MODEL_H_
