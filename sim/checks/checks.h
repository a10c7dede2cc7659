// The checks of one world: on by default in virtual time, told by the devices and drivers, and
// silent about programs that do nothing wrong. The code that runs a program reads `findings` at the
// end, and fails when there are some.
//
//   Observer ──► Checks ─┬─► MemoryChecks    requests, and the memory that they name
//                        ├─► EndpointWatch   what a program posts, is refused, and reads
//                        ├─► QueueService, Progress, Leaks
//                        └─► FindingLog

#ifndef DRYDOCK_SIM_CHECKS_CHECKS_H_
#define DRYDOCK_SIM_CHECKS_CHECKS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "drydock/fabric/context_owner.h"
#include "drydock/sim/checks/endpoint_watch.h"
#include "drydock/sim/checks/finding.h"
#include "drydock/sim/checks/finding_log.h"
#include "drydock/sim/checks/leaks.h"
#include "drydock/sim/checks/memory_checks.h"
#include "drydock/sim/checks/progress.h"
#include "drydock/sim/checks/queue_service.h"
#include "drydock/sim/checks/wait_graph.h"
#include "drydock/sim/device/observer.h"
#include "drydock/sim/device/operation_table.h"
#include "drydock/sim/events/deferred_actions.h"
#include "drydock/sim/events/timeline.h"
#include "drydock/sim/memory/memory_bus.h"

namespace drydock::sim {

// Not thread-safe: belongs to its world.
class Checks final : public Observer, private fabric::ContextWatcher {
 public:
  // Its constructor's arguments outlive it. `deferred`: the actions that a fault plan has put off.
  Checks(const Timeline& timeline, const DeferredActions& deferred, OperationTable& operations,
         const MemoryBus& bus)
      : timeline_(timeline), deferred_(deferred), operations_(operations), memory_(log_, bus) {}

  // The program runs on this thread, and its contexts may have owners (fabric/context_owner.h).
  using ContextWatcher::WatchOwners;

  // The program's declarations about itself, before its first post.
  ProgramRules& rules() { return rules_; }

  // In the order in which they were found. Valid until the next event of the world.
  std::span<const Finding> findings() const { return log_.findings(); }
  // The same, and forgets them: for tests that break a rule on purpose.
  std::vector<Finding> TakeFindings() { return log_.Take(); }
  // Called with each finding that is new, within the event that shows it; it must not touch the
  // world. Its count may still grow.
  void OnFinding(std::function<void(const Finding& finding)> handler) {
    log_.OnNew(std::move(handler));
  }

  // For the code that runs a program: every request that should have completed by now did.
  void CheckRequests();
  // The program is over, and has closed what it opened.
  void CheckEnd();

  // The program waits for ever.
  void Stuck();

  // Which endpoint waits for which, as far as posts and completions tell.
  WaitGraph DescribeWaits() const;
  // The program does something for ever: called once, with the graph. Without a handler both go to
  // standard error. In both cases it is a finding.
  using EndlessHandler = std::function<void(EndlessLoop loop, const WaitGraph& graph)>;
  void OnEndlessLoop(EndlessHandler handler) { endless_loop_ = std::move(handler); }

  // --- Observer ---
  void OnReceiveTaken(const NicState& nic, const QueuePair& queue_pair,
                      const ReceiveWork& receive) override;
  void OnMessageLands(const NicState& nic, const QueuePair& target, const Operation& operation,
                      const ReceiveWork& receive, std::uint64_t prefix) override;
  void OnImmediateDelivered(const NicState& nic, const QueuePair& target,
                            const Operation& operation) override;
  void OnPlacing(const BytesPlaced& bytes) override;
  void OnKeyRefused(const KeyRefused& refused) override;
  void OnRegistered(const NicState& nic, ProtectionDomain domain, const MemoryTable::Keys& keys,
                    std::uint64_t address, std::uint64_t length_bytes,
                    fabric::Access access) override;
  void OnDeregistered(const NicState& nic, std::uint32_t remote_key) override;
  void OnEnded(const Operation& operation) override;
  void OnSilent(const Operation& operation) override;
  void OnReported(const NicState& nic, const CompletionRing& ring,
                  const DeviceCompletion& completion, EntryFate fate) override;
  void OnDied(const NicState& nic) override;
  void OnOpened(std::uint32_t object, ObjectKind kind, const NicState& nic) override;
  void OnClosed(std::uint32_t object, bool busy) override;
  void OnQueueOpened(const CompletionRing& ring, std::uint32_t domain) override;
  void OnEndpointOpened(const EndpointOpened& endpoint) override;
  void OnEndpointClosing(const QueuePair& queue_pair) override;
  void OnQueuePairGone(const QueuePair& queue_pair) override;
  void OnRingsTaken(const QueuePair& queue_pair) override;
  void OnBatchLeft(const QueuePair& queue_pair, std::size_t requests) override;
  void OnHandleClosing(const NicState& nic, std::uint16_t handle) override;
  void OnQueueClosing(const NicState& nic, const CompletionRing& ring, bool unread,
                      std::uint32_t unacknowledged) override;
  void OnTwoThreads(const NicState& nic, std::uint32_t number, bool queue_pair) override;
  void OnPosted(const QueuePair& queue_pair, const fabric::efa_queue::SendWork& work,
                const Posted& posted, std::uint32_t peer) override;
  void OnReceivePosted(const QueuePair& queue_pair, const fabric::efa_queue::ReceiveWork& work,
                       const Posted& posted) override;
  void OnAgain(const NicState& nic, const QueuePair& queue_pair, const Posted& posted) override;
  void OnCompletionRead(const QueuePair& queue_pair, bool receive, std::uint16_t request_id,
                        std::uint8_t status) override;
  void OnPolling(const CompletionRing& ring) override;
  void OnPolledInVain(const CompletionRing* ring) override;

 private:
  // A completion queue that a driver has opened.
  struct WatchedRing {
    QueueService service;
    std::uint64_t reads = 0;
    std::uint32_t domain = 0;  // index in domain_reads_
    Progress::Polls polls;
  };

  EndpointWatch* Find(const QueuePair& queue_pair) const {
    return queue_pair.serial < by_serial_.size() ? by_serial_[queue_pair.serial] : nullptr;
  }
  WatchedRing* Find(const CompletionRing& ring) {
    return ring.serial() < rings_.size() ? &rings_[ring.serial()] : nullptr;
  }
  void Audit(const EndpointWatch& endpoint);
  void NeverReturns(EndlessLoop loop);

  // --- fabric::ContextWatcher ---
  void OnOwnerGone(fabric::Context context) override;

  const Timeline& timeline_;
  const DeferredActions& deferred_;
  OperationTable& operations_;
  FindingLog log_{timeline_};
  ProgramRules rules_;
  MemoryChecks memory_;
  Leaks leaks_{log_};
  Progress progress_;
  Progress::Polls counter_polls_;                          // of all counters
  std::vector<std::unique_ptr<EndpointWatch>> endpoints_;  // in the order of their opening
  std::vector<EndpointWatch*> by_serial_;                  // index = QueuePair::serial
  std::vector<WatchedRing> rings_;                         // index = CompletionRing::serial
  std::vector<std::uint64_t> domain_reads_;  // looks into queues of a driver's domain, by number
  EndlessHandler endless_loop_;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_CHECKS_CHECKS_H_
