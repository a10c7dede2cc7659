// A simulated EFA device: it fetches work requests, sends packets, and places what arrives.
//
// What it promises, and no more (ofiwg/libfabric prov/efa/docs, amzn-drivers SRD.txt):
//   1. Every work request ends in exactly one completion entry; of a destroyed queue pair in none.
//   2. Work requests, the packets of one, and the pieces of a packet are placed in any order.
//   3. The immediate of a write appears only after every byte of that write was placed.
//   4. The same packet may be placed twice before the completion; nothing is placed after it.
//   5. Rights and bounds are checked when bytes are placed, packet by packet.
//   6. A failure affects only its own work request.
//
// The functions: nic.cc (what the driver asks for), requester.cc (our own work requests),
// responder.cc (what peers send us), placement.cc, live.cc, watching.cc (what others are told).

#ifndef SIM_NIC_H_
#define SIM_NIC_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sim/address_handles.h"
#include "sim/checks/peer_incarnation.h"
#include "sim/completion_ring.h"
#include "sim/device_counters.h"
#include "sim/efa_address.h"
#include "sim/efa_status.h"
#include "sim/event_queue.h"
#include "sim/landing.h"
#include "sim/link.h"
#include "sim/memory_table.h"
#include "sim/operation.h"
#include "sim/outcome_counts.h"
#include "sim/profile.h"
#include "sim/queue_pair.h"
#include "sim/random.h"
#include "sim/remote_port.h"
#include "sim/scheduler.h"
#include "sim/wire.h"

namespace sim {

class FaultModel;
class World;

// Not thread-safe: belongs to its world. Lives as long as the world.
class Nic final : public Actor {
 public:
  // `index` counts the NICs of the world; `identity` decides the GID where `origin` does not.
  // `name` is for people: "server/rdmap79s0".
  Nic(World& world, std::string name, std::uint32_t index, std::uint64_t identity,
      const Profile& profile, const NicOrigin& origin = {});
  const std::string& name() const { return name_; }
  std::uint32_t index() const override { return index_; }
  std::uint32_t machine() const { return machine_; }  // the how-manieth of the world, from 0
  const Gid& gid() const { return gid_; }
  const Profile& profile() const { return profile_; }
  // Where what reaches it goes on to: it is a proxy for a NIC of another process. Null: it is here.
  RemotePort* remote() const { return remote_; }
  const DeviceCounters& counters() const { return counters_; }
  const Link& link() const { return link_; }
  const OutcomeCounts& outcomes() const { return outcomes_; }             // not in live mode
  void CountAgain(fabric::OperationKind kind) { outcomes_.Again(kind); }  // a queue was full

  // --- What can happen to a machine ---
  // A dead NIC sends and receives nothing: its peers see silence.
  bool alive() const { return alive_; }
  void Kill();
  void Revive();  // of a proxy: there is a process again
  // What waits here for a receive, sent by `peer`, hears no more of us.
  void Silence(const Nic& peer);
  // The device restarts: its queue pairs are in error for good, their work is flushed, and peers
  // that had work under way with it are told (status 8).
  void Reset();
  // A broken device: it answers every request with nonsense (status 12 at its peers).
  void set_answers_nonsense(bool nonsense);
  // What is true of the queue pair (`number`, `qkey`) here, for a queue pair of `initiator`.
  PeerState StateFor(const Nic& initiator, std::uint16_t number, std::uint32_t qkey) const;

  // --- Control path: the commands of a driver ---
  // kResourceExhausted: the device has no protection domain left.
  absl::StatusOr<ProtectionDomain> AllocateDomain();
  void FreeDomain(ProtectionDomain domain);
  MemoryTable& memory() { return memory_; }
  absl::StatusOr<MemoryTable::Keys> RegisterMemory(ProtectionDomain domain, std::byte* data,
                                                   std::size_t length, fabric::Access access);
  void DeregisterMemory(std::uint32_t remote_key);
  // kResourceExhausted: an address handle too many.
  absl::StatusOr<std::uint16_t> CreateAddressHandle(ProtectionDomain domain, const Gid& peer);
  // Work under way to the handle ends with kFlushed, later work with kLocalInvalidAddressHandle.
  void DestroyAddressHandle(std::uint16_t number);
  // kResourceExhausted: the device has no completion queue left. `depth` is a power of two.
  absl::StatusOr<std::shared_ptr<CompletionRing>> CreateCompletionRing(std::size_t depth,
                                                                       std::byte* memory = nullptr);
  void DestroyCompletionRing() { counters_.Commands(1); }  // it goes with its last owner
  // kResourceExhausted: the device has no queue pair left. In state RTS at once.
  absl::StatusOr<QueuePair*> CreateQueuePair(const QueuePairAttributes& attributes);
  // Ends its work requests without completions; packets under way to or from it come to nothing.
  void DestroyQueuePair(QueuePair& queue_pair);
  // It is in error for good: its work is flushed.
  void FailQueuePair(QueuePair& queue_pair);

  // --- Data path: writing a doorbell. `counter` is the running number of posted entries. ---
  void RingSend(QueuePair& queue_pair, std::uint32_t counter);
  void RingReceive(QueuePair& queue_pair, std::uint32_t counter);
  // For the checks, when nothing should be amiss: every request of the queue pair, or of all of
  // them, that the device still has is under way; the others ought to have completed.
  void Audit(QueuePair& queue_pair);
  void AuditAll();

  // Live mode: serves what was rung for, until nothing is left or it waits for its peer.
  void Progress();

  // In events, `a` is a packet's number and flags, `b` the operation; of kLand, `b` is the landing.
  void OnEvent(const Event& event) override;

 private:
  friend class Abroad;      // what passes to and from other processes
  friend class FaultModel;  // what a fault plan does to the device, it does from within
  friend class World;       // for Describe and its like

  // Beside the packet number: a second copy of the packet; a piece of read data, of a message; to a
  // proxy: a second copy follows.
  static constexpr std::uint32_t kSecondCopy = 1u << 31;
  static constexpr std::uint32_t kOfRead = 1u << 30;
  static constexpr std::uint32_t kOfMessage = 1u << 29;
  static constexpr std::uint32_t kCopyFollows = 1u << 28;
  static constexpr std::uint32_t kPacketMask = kCopyFollows - 1;
  static constexpr std::uint32_t kLiveWindow = 16;  // what live mode serves in random order

  // What the link has to carry: an operation's own packets, or a read's data back to its initiator.
  struct Job {
    OperationId operation;
    bool response;
  };

  Range RangeOf(const Operation& operation, std::uint32_t packet) const;
  QueuePair* FindQueuePair(std::uint16_t number) const {
    return number < queue_pairs_.size() ? queue_pairs_[number].get() : nullptr;
  }
  QueuePair* FindQueuePair(std::uint16_t number, std::uint32_t qkey) const {
    QueuePair* queue_pair = FindQueuePair(number);
    return queue_pair != nullptr && queue_pair->qkey == qkey ? queue_pair : nullptr;
  }
  void Report(CompletionRing& ring, const DeviceCompletion& completion);
  void ReportLost(const CompletionRing& ring);
  static void Count(QueuePair& queue_pair, CounterKind kind, bool failed) {
    CounterCore* counter = queue_pair.counters[static_cast<std::size_t>(kind)].get();
    if (counter != nullptr) ++(failed ? counter->errors : counter->value);
  }

  // --- requester.cc ---
  void FetchWork();
  // Decodes a work request that was rung for; false when it was malformed and has ended.
  bool FetchOne(QueuePair& queue_pair, std::uint32_t ahead, Operation& operation);
  void Identify(const QueuePair& queue_pair, Operation& operation) const;
  void Refuse(QueuePair& queue_pair, const Operation& operation, EfaStatus status);
  EfaStatus CheckLocally(Operation& operation);
  bool LocalIsValid(const Operation& operation, Range range) const;
  void CountWork(const Operation& operation, bool failed);
  bool HeldBack(Operation& operation);
  void Begin(const Operation& operation);
  void Enqueue(Job job);
  void ScheduleTransmit();
  void Transmit();
  std::size_t Choose(std::uint64_t window);
  bool IsCalm(const Job& job) const;
  bool TransmitOne(Operation& operation, bool response);
  void SendPacket(Operation& operation, std::uint32_t packet, bool response, std::uint64_t bytes);
  Flight Fly(Nic& receiver, Operation& operation, PacketKind kind, std::uint32_t packet);
  coro::Duration QueueAt(Nic& receiver, coro::Time sent, std::uint64_t bytes) const;
  void ArriveReadData(Operation& operation, std::uint32_t packet, bool second_copy);
  void FinishLocally(Operation& operation, EfaStatus status);
  void Answer(Operation& operation);
  void Complete(const Operation& operation);
  void StartTimeout(Operation& operation);
  void TimeOut(Operation& operation);
  void HearFrom(const Nic& peer) {
    if (heard_from_.size() <= peer.index()) heard_from_.resize(peer.index() + 1u);
    heard_from_[peer.index()] = 1;
  }
  bool HasHeardFrom(const Operation& operation) const;

  // --- live.cc ---
  void ServeInAnyOrder(QueuePair& queue_pair, std::uint32_t count);
  void Serve(QueuePair& queue_pair, std::uint32_t ahead);
  Operation& Parked(Operation& operation);
  bool WriteNow(QueuePair& queue_pair, std::uint32_t ahead);
  void ReportNow(CompletionRing& ring, const DeviceCompletion& completion);
  Route* RouteOf(QueuePair& queue_pair, const fabric::efa_queue::SendWork& work);
  Route* FindRoute(QueuePair& queue_pair, std::uint16_t address_handle, std::uint16_t number,
                   std::uint32_t qkey);
  QueuePair* FindWritable(const Nic& initiator, std::uint16_t number, std::uint32_t qkey) const;
  void PlaceNow(std::uint64_t target, std::uint64_t source, std::uint64_t length);
  void PlacePackets(std::uint64_t target, std::uint64_t source, std::uint64_t length);
  void Execute(Operation& operation);
  void ArriveNow(Operation& operation);

  // --- responder.cc: functions of the target ---
  void Arrive(Operation& operation, std::uint32_t packet, bool second_copy);
  EfaStatus CheckTarget(const Operation& operation, const QueuePair* target);
  void ArriveSend(Operation& operation, QueuePair& target);
  void ArriveDatagram(Operation& operation, QueuePair& target);
  void ArriveWrite(Operation& operation, QueuePair& target, std::uint32_t packet, bool second_copy);
  void Written(Operation& operation, QueuePair& target);
  void Announce(Operation& operation, QueuePair& target);
  void ReportImmediate(const Operation& operation, const QueuePair& target,
                       DeviceCompletion completion);
  void NoReceive(Operation& arrived, QueuePair& target);
  void RetryReceive(Operation& operation);
  bool TakeReceive(QueuePair& target, ReceiveWork& receive);
  void FlushReceives(QueuePair& queue_pair);
  void RefuseReceive(QueuePair& target, const ReceiveWork& receive, EfaStatus status);
  EfaStatus CheckPlacement(const Operation& operation, Range range) const;  // of reads' sources
  bool RemoteIsValid(const Operation& operation, const QueuePair& target, Range range) const;
  bool ReceiveIsValid(const QueuePair& target, const ReceiveWork& receive) const;
  DeviceCompletion FromPeer(const Operation& operation, const QueuePair& target) const;
  // The target's answer goes back to the initiator.
  void Finish(Operation& operation, EfaStatus status);

  // --- scheduling.cc ---
  // What an event of this NIC means for a scheduler; the operation that it is about, null when that
  // has ended; whether it would come to nothing.
  Step Describe(const Operation& operation, EventKind kind, std::uint32_t packet) const;
  const Operation* OperationOf(EventKind kind, std::uint64_t number) const;
  bool IsPointless(const Event& event) const;

  // --- placement.cc ---
  bool DrawSplit(const Operation& operation, std::uint32_t flags, coro::Duration& later) const;
  Range FirstOf(const Operation& operation, Range range, bool of_read) const;
  // Decides whether a packet is placed in two steps; narrows `range` to the first one.
  bool Split(Operation& operation, Range& range, std::uint32_t flags);
  // Bytes have reached memory; `rest_comes`: others of the same packet have not.
  void LogPlaced(const Operation& operation, std::uint32_t packet, Range range, bool rest_comes);
  void PlaceRest(Operation& operation, std::uint32_t flags);
  // False when the rights to it have ended, and the operation with them.
  bool PlacePiece(Operation& operation, std::uint32_t flags, Range range);
  void Placed(Operation& operation, std::uint32_t flags);
  void Deliver(Operation& operation, QueuePair& target, const ReceiveWork& receive,
               std::uint64_t prefix);
  void PlaceMessage(const Operation& operation, const Landing& landing, Range range);
  void Land(std::uint64_t number);
  void Landed(const Landing& landing, Operation& operation);
  void Received(QueuePair& target, const Landing& landing);

  // --- watching.cc: functions for the checks ---
  // An entry was written; or not (`kept`), for a reason that is known.
  void TellReported(const DeviceCompletion& completion, bool kept);
  void TellEnded(const Operation& operation);
  void Consume(QueuePair& queue_pair, const ReceiveWork& receive);
  // Bytes of the operation's are about to be copied, between its initiator and `target`.
  void TellPlacing(Operation& operation, const Nic& target_nic, Range range, bool second_copy);
  void TellPlacingMessage(const QueuePair& target, const ReceiveWork& receive, Range range);
  void TellLands(const Operation& operation, const QueuePair& target, const ReceiveWork& receive,
                 std::uint64_t prefix);
  void TellRefusedHere(const Operation& operation) const;
  void TellRefusedThere(const Operation& operation) const;
  void TellRefusedReceive(const QueuePair& target, const Segment& segment) const;
  void TellImmediate(const Operation& operation, const QueuePair& target);
  void TellPlaced(const Operation& operation, Range range);

  World& world_;
  const std::string name_;
  const Profile& profile_;
  const std::uint32_t index_;
  const std::uint32_t machine_;
  RemotePort* const remote_;
  Gid gid_;
  bool alive_ = true;
  bool answers_nonsense_ = false;
  RandomStream qkeys_;
  RandomStream engine_;
  DeviceCounters counters_;
  OutcomeCounts outcomes_;
  std::vector<bool> domains_;  // index = number; true: allocated
  MemoryTable memory_;
  AddressHandles address_handles_;
  std::vector<std::weak_ptr<CompletionRing>> completion_rings_;
  std::vector<std::unique_ptr<QueuePair>> queue_pairs_;  // index = number
  std::uint32_t queue_pairs_made_ = 0;
  std::vector<std::uint8_t> heard_from_;  // index of a peer's NIC: it sent us something, ever
  std::vector<QueuePair*> unfetched_;     // queue pairs with work that was rung for and not fetched
  std::vector<Job> jobs_;       // in order of arrival; the engine serves the first few at random
  std::uint32_t requests_ = 0;  // jobs of our own
  std::map<std::uint64_t, Landing> landings_;
  std::uint64_t next_landing_ = 0;
  bool transmit_scheduled_ = false;
  coro::Time engine_free_{};  // to prepare another work request
  Link link_;
  std::uint64_t ingress_free_ps_ = 0;  // for what peers send us: picoseconds since time began
};

}  // namespace sim

#endif  // SIM_NIC_H_
