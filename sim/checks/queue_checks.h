// The checks of completion queues: there is room for what comes, what comes is read, and one thread
// uses a queue at a time.

#ifndef DRYDOCK_SIM_CHECKS_QUEUE_CHECKS_H_
#define DRYDOCK_SIM_CHECKS_QUEUE_CHECKS_H_

#include <cstdint>
#include <vector>

#include "drydock/sim/checks/finding_log.h"
#include "drydock/sim/checks/queue_service.h"
#include "drydock/sim/device/observer.h"

namespace drydock::sim {

// Not thread-safe: belongs to its world. Knows the queues that a driver has opened.
class QueueChecks final : public Observer {
 public:
  // Adds its findings to `log`, which outlives it.
  explicit QueueChecks(FindingLog& log) : log_(log) {}

  // How often the program has looked into a queue.
  std::uint64_t ReadsOf(const CompletionRing& ring) const;

  void OnQueueOpened(const CompletionRing& ring, std::uint32_t domain) override;
  void OnQueueClosing(const NicState& nic, const CompletionRing& ring, bool unread,
                      std::uint32_t unacknowledged) override;
  void OnPolling(const CompletionRing& ring) override;
  void OnReported(const NicState& nic, const CompletionRing& ring,
                  const DeviceCompletion& completion, EntryFate fate) override;
  // Of queue pairs, too: they are used together with their queues.
  void OnTwoThreads(const NicState& nic, std::uint32_t number, bool queue_pair) override;

 private:
  struct Watched {
    QueueService service;
    std::uint64_t reads = 0;
    std::uint32_t domain = 0;  // index in domain_reads_
  };

  // Null: another driver's, which has not said that it opened it.
  const Watched* Find(const CompletionRing& ring) const {
    return ring.serial() < queues_.size() ? &queues_[ring.serial()] : nullptr;
  }
  Watched* Find(const CompletionRing& ring) {
    return const_cast<Watched*>(static_cast<const QueueChecks*>(this)->Find(ring));
  }

  FindingLog& log_;
  std::vector<Watched> queues_;              // index = CompletionRing::serial
  std::vector<std::uint64_t> domain_reads_;  // looks into queues of a driver's domain, by number
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_CHECKS_QUEUE_CHECKS_H_
