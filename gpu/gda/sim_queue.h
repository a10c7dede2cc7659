// The queue of a simulated NIC, for a device to drive: rings and doorbells in memory that a GPU can
// map, and the part of the NIC that watches them.
//
//   device                       SimQueue                             sim::Nic
//   entries ──► ring in memory     ── copied when rung for ──►         send ring
//   counter ──► doorbell word      ── taken, checked       ──►         RingSend
//   poll    ◄── completion ring    ◄── phase last                      completion ring
//
// As on the NIC, an entry is looked at when a doorbell covers it, and not before; slots may be
// written again as soon as a completion of theirs, or of a later one, was polled.

#ifndef DRYDOCK_GPU_GDA_SIM_QUEUE_H_
#define DRYDOCK_GPU_GDA_SIM_QUEUE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/fabric/efa_queue/cqe.h"
#include "drydock/fabric/efa_queue/ring.h"
#include "drydock/fabric/efa_queue/wqe.h"
#include "drydock/fabric/endpoint.h"
#include "drydock/gpu/gda/host_pages.h"
#include "drydock/gpu/gda/queue/queue.h"
#include "drydock/gpu/gda/queue_fault.h"
#include "drydock/sim/driver/queue_access.h"

namespace drydock::gpu::gda {

// Ownership: the caller's; dies before the endpoint closes, and when no device uses it any more.
// Threads: all functions but View are for one thread at a time, together with the world (SimEngine
// sees to that); devices on other threads touch the memory of View() only.
class SimQueue {
 public:
  // Takes over the rings of `endpoint` and its completion queues, for itself alone: the endpoint's
  // program neither posts nor reads from now on. kUnimplemented: it is no simulated endpoint of the
  // fabric efa-direct. kFailedPrecondition: it has posted already, or not `real_time`.
  // kResourceExhausted: no memory.
  static absl::StatusOr<std::unique_ptr<SimQueue>> Open(fabric::Endpoint& endpoint, bool real_time);
  SimQueue(const SimQueue&) = delete;
  SimQueue& operator=(const SimQueue&) = delete;

  // Host addresses. The memory is whole pages, zero at first.
  const QueueView& View() const { return view_; }
  // How work requests name `peer`. kNotFound: it is not in the endpoint's address vector.
  absl::StatusOr<PeerView> PeerOf(fabric::Peer peer, const fabric::Address& address);

  // Takes what was rung for; true when there was something. The world has to make progress then.
  bool TakeReceiveDoorbell();
  bool TakeSendDoorbell();
  // Hands the device what has completed; true when there was something.
  bool DeliverCompletions();

  // The first of each kind and a few more, in the order in which they were found; how many of a
  // kind there were.
  const std::vector<QueueFault>& faults() const { return faults_; }
  std::uint64_t count(QueueFaultKind kind) const { return counts_[static_cast<std::size_t>(kind)]; }

 private:
  // One ring that the device fills.
  struct Watched {
    Watched(const WorkRing& where, std::uint32_t batch)
        : ring(where), fetcher(where.entry_count, batch) {}
    WorkRing ring;
    fabric::efa_queue::Fetcher fetcher;  // what the doorbells have announced
    std::uint32_t announced = 0;         // ever, modulo 2^32
  };
  struct Suspect {
    std::uint32_t counter;
    std::size_t fault;  // in faults_; kNotKept: was not kept
  };
  static constexpr std::size_t kKept = 64;
  static constexpr std::size_t kNotKept = SIZE_MAX;

  SimQueue(sim::QueueAccess& access, HostPages pages);
  void Refuse(const Watched& watched, bool receive, std::uint32_t value,
              fabric::efa_queue::DoorbellFault fault);
  bool LooksLikeCount(const Watched& watched, std::uint32_t value) const;
  void TakeEntry(std::uint32_t counter);
  void LookAgain();
  fabric::efa_queue::Malformed Decode(std::uint32_t counter, const void* entry) const;
  // The entry of that counter as it is in the device's ring now.
  void Load(std::uint32_t counter, void* entry) const;
  bool Deliver(sim::CompletionRing& from);
  void Publish(const fabric::efa_queue::Completion& done);
  std::size_t Note(QueueFaultKind kind, bool receive, std::uint32_t counter, std::string text);

  sim::QueueAccess& access_;
  sim::QueuePair& queue_pair_;
  const HostPages pages_;
  QueueView view_;
  Watched send_;
  Watched receive_;
  fabric::efa_queue::CompletionProducer send_done_;
  fabric::efa_queue::CompletionProducer receive_done_;
  std::vector<Suspect> suspects_;  // slots that were skipped, perhaps
  std::vector<QueueFault> faults_;
  std::array<std::uint64_t, kQueueFaultKinds> counts_{};
};

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_SIM_QUEUE_H_
