// The checks about requests and the memory that they name: each is in a file of its own, and this
// class passes the events on to it.

#ifndef DRYDOCK_SIM_CHECKS_MEMORY_CHECKS_H_
#define DRYDOCK_SIM_CHECKS_MEMORY_CHECKS_H_

#include <cstdint>

#include "drydock/fabric/efa_queue/receive_wqe.h"
#include "drydock/fabric/efa_queue/wqe.h"
#include "drydock/fabric/operation.h"
#include "drydock/sim/checks/buffer_race.h"
#include "drydock/sim/checks/conservation.h"
#include "drydock/sim/checks/destination_guard.h"
#include "drydock/sim/checks/finding_log.h"
#include "drydock/sim/checks/registrations.h"
#include "drydock/sim/checks/watched_queue.h"
#include "drydock/sim/device/observer.h"
#include "drydock/sim/device/operation_table.h"
#include "drydock/sim/memory/memory_bus.h"

namespace drydock::sim {

// Not thread-safe: belongs to its world. Allocates when something is opened, and for a request only
// where more of them are in flight than ever before.
class MemoryChecks final : public Observer {
 public:
  // Adds its findings to `log`. All outlive it.
  MemoryChecks(FindingLog& log, const MemoryBus& bus)
      : log_(log), race_(log, registrations_, queues_, bus), guard_(registrations_, bus) {}

  // ---- The driver ----
  void OnEndpointOpened(const EndpointOpened& endpoint) override;
  void OnRingsTaken(const QueuePair& queue_pair) override;
  void OnPosted(const QueuePair& queue_pair, const fabric::efa_queue::SendWork& work,
                const Posted& posted, std::uint32_t peer) override;
  void OnReceivePosted(const QueuePair& queue_pair, const fabric::efa_queue::ReceiveWork& work,
                       const Posted& posted) override;
  void OnHandleClosing(const NicState& nic, std::uint16_t handle) override;
  void OnCompletionRead(const QueuePair& queue_pair, bool receive, std::uint16_t request_id,
                        std::uint8_t status) override;

  // ---- The device ----
  void OnQueuePairGone(const QueuePair& queue_pair) override;
  void OnReceiveTaken(const NicState& nic, const QueuePair& queue_pair,
                      const ReceiveWork& receive) override;
  void OnMessageLands(const NicState& nic, const QueuePair& target, const Operation& operation,
                      const ReceiveWork& receive, std::uint64_t prefix) override;
  void OnPlacing(const BytesPlaced& bytes) override;
  void OnKeyRefused(const KeyRefused& refused) override;
  void OnRegistered(const NicState& nic, ProtectionDomain domain, const MemoryTable::Keys& keys,
                    std::uint64_t address, std::uint64_t length_bytes,
                    fabric::Access access) override;
  void OnDeregistered(const NicState& nic, std::uint32_t remote_key) override;
  void OnImmediateDelivered(const NicState& nic, const QueuePair& target,
                            const Operation& operation) override;
  void OnEnded(const Operation& operation) override;
  void OnSilent(const Operation& operation) override;
  void OnReported(const NicState& nic, const CompletionRing& ring,
                  const DeviceCompletion& completion, EntryFate fate) override;
  void OnDied(const NicState& nic) override;

  // Every request of the queue pair that the device does not have any more ought to have completed.
  // `unrung`: so many of the last ones were not rung for, and nothing is due of them.
  void Audit(const QueuePair& queue_pair, std::uint32_t unrung, OperationTable& operations);

 private:
  void Forget(WatchedQueue& queue);
  WatchedRequest* RequestOf(const Operation& operation) const;

  FindingLog& log_;
  Registrations registrations_{log_};
  Conservation conservation_{log_};
  WatchedQueues queues_;
  BufferRace race_;
  DestinationGuard guard_;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_CHECKS_MEMORY_CHECKS_H_
