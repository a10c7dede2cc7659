// A simulated EFA device: it serves work requests, sends packets, and places what arrives.
//
// What it promises, and nothing more (ofiwg/libfabric prov/efa/docs, amzn-drivers SRD.txt):
//   1. Every accepted work request ends in exactly one completion, unless its queue pair is
//   destroyed first.
//   2. Work requests, and the packets of one, are placed in any order.
//   3. The immediate of a write appears only after every byte of that write was placed.
//   4. Nothing is placed after the completion of its work request.
//   5. Rights and bounds are checked when bytes are placed, packet by packet.
//   6. A failure affects only its own work request.

#ifndef SIM_NIC_H_
#define SIM_NIC_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "sim/efa_address.h"
#include "sim/event_queue.h"
#include "sim/memory_table.h"
#include "sim/operation_table.h"
#include "sim/profile.h"
#include "sim/queue_pair.h"
#include "sim/random.h"

namespace sim {

class World;

// EFA's completion statuses (ofiwg/libfabric prov/efa/src/efa_errno.h) that the device produces by
// itself.
enum class EfaStatus : std::uint8_t {
  kOk = 0,
  kLocalInvalidLkey = 5,
  kLocalBadLength = 6,
  kRemoteBadAddress = 7,
  kRemoteBadQueuePair = 9,
  kRemoteNotReady = 10,
  kRemoteBadLength = 11,
  kLocalUnresponsivePeer = 13,
  kRemoteUnknownPeer = 14,
  kLocalUnreachablePeer = 15,
};

// Not thread-safe: belongs to its world. Lives as long as the world.
class Nic final : public Actor {
 public:
  // `identity` is unique in the world and decides the GID.
  Nic(World& world, std::uint64_t identity, const Profile& profile);

  const Gid& gid() const { return gid_; }

  // A dead NIC sends and receives nothing: its peers see silence.
  bool alive() const { return alive_; }
  void Kill();

  // --- Control path ---
  ProtectionDomain AllocateDomain() { return next_domain_++; }
  MemoryTable& memory() { return memory_; }

  // Null when the device has no queue pair left.
  QueuePair* CreateQueuePair(ProtectionDomain domain, std::shared_ptr<CompletionRing> send_ring,
                             std::shared_ptr<CompletionRing> receive_ring);
  // Ends its work requests without completions; packets under way to or from it come to nothing.
  void DestroyQueuePair(QueuePair& queue_pair);

  // Address handles, counted per domain: remote access to a domain works only for peers that it has
  // one for.
  void CreateAddressHandle(ProtectionDomain domain, const Gid& peer);
  void DestroyAddressHandle(ProtectionDomain domain, const Gid& peer);

  // --- Data path: what ringing the doorbell means ---
  void Send(const QueuePair& queue_pair, std::span<const SendWork> work);
  void Receive(QueuePair& queue_pair, std::span<const ReceiveWork> work);

  void OnEvent(const Event& event) override;

 private:
  enum EventKind : std::uint32_t {
    kTransmit,  // the link is free
    kArrive,    // a packet of a peer's operation is here; a: packet number, b: operation
    kReadData,  // a packet of the answer to our read is here; a: packet number, b: operation
    kAnswer,    // the operation of ours has ended; b: operation
    kTimeOut,   // nobody answered; b: operation
    kRnrRetry,  // a send tries again to find a receive; b: operation
  };

  // What the link has to carry: an operation's own packets, or a read's data back to its initiator.
  struct Job {
    OperationId operation;
    bool response;
  };

  // A range of an operation's bytes, the payload of one packet.
  struct Range {
    std::uint64_t offset;
    std::uint64_t length;
  };
  Range RangeOf(const Operation& operation, std::uint32_t packet) const;

  // Initiator: from the doorbell to the link.
  Operation& StartOperation(const QueuePair& queue_pair, const SendWork& work);
  EfaStatus CheckLocally(const Operation& operation) const;
  void Enqueue(Job job);
  void ScheduleTransmit();
  void Transmit();
  // Sends one packet of a job; true when it was the last one.
  bool TransmitOne(Operation& operation, bool response);
  void SendPacket(Operation& operation, std::uint32_t packet, bool response, std::uint64_t bytes);
  coro::Time OccupyLink(std::uint64_t bytes);

  // Target: what a packet does when it is here.
  void Arrive(Operation& operation, std::uint32_t packet);
  void ArriveSend(Operation& operation, QueuePair& target);
  void ArriveWrite(Operation& operation, QueuePair& target, std::uint32_t packet);
  void NoReceive(Operation& operation, QueuePair& target);
  bool MayAccessRemotely(const Operation& operation, const QueuePair& target, Range range) const;

  // Initiator: how an operation ends.
  void ArriveReadData(Operation& operation, std::uint32_t packet);
  void Finish(Operation& operation, EfaStatus status);
  void FinishLocally(Operation& operation, EfaStatus status);
  void Answer(Operation& operation);
  void StartTimeout(Operation& operation);
  void TimeOut(Operation& operation);

  QueuePair* FindQueuePair(std::uint16_t number, std::uint32_t qkey);
  bool SourceIsValid(const Operation& operation, Range range) const;
  void Report(CompletionRing& ring, const DeviceCompletion& completion);

  World& world_;
  const Profile& profile_;
  Gid gid_{};
  bool alive_ = true;
  RandomStream qkeys_;
  RandomStream engine_;

  ProtectionDomain next_domain_ = 1;
  MemoryTable memory_;
  std::map<std::pair<ProtectionDomain, Gid>, int> address_handles_;
  std::vector<std::unique_ptr<QueuePair>> queue_pairs_;  // index = number
  std::set<Gid> heard_from_;                             // peers that sent us something, ever

  std::vector<Job> jobs_;  // in order of arrival; the engine serves the first few at random
  bool transmit_scheduled_ = false;
  std::uint64_t link_free_ps_ = 0;  // picoseconds since the start of time
};

}  // namespace sim

#endif  // SIM_NIC_H_
