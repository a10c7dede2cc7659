// The checks of endpoints: what a program posts to each, is refused, and reads of it.

#ifndef DRYDOCK_SIM_CHECKS_ENDPOINT_CHECKS_H_
#define DRYDOCK_SIM_CHECKS_ENDPOINT_CHECKS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "drydock/fabric/context_owner.h"
#include "drydock/fabric/efa_queue/receive_wqe.h"
#include "drydock/fabric/efa_queue/wqe.h"
#include "drydock/fabric/operation.h"
#include "drydock/sim/checks/endpoint_watch.h"
#include "drydock/sim/checks/finding_log.h"
#include "drydock/sim/device/observer.h"

namespace drydock::sim {

// One EndpointWatch for each endpoint that is open. Not thread-safe: belongs to its world.
class EndpointChecks final : public Observer, private fabric::ContextWatcher {
 public:
  // Adds its findings to `log`. Both outlive it.
  EndpointChecks(FindingLog& log, const ProgramRules& rules) : log_(log), rules_(rules) {}

  // The program runs on this thread, and its contexts may have owners (fabric/context_owner.h).
  using ContextWatcher::WatchOwners;

  using Watches = std::vector<std::unique_ptr<EndpointWatch>>;
  // In the order of their opening.
  const Watches& watches() const { return watches_; }
  // Null: it is not open.
  EndpointWatch* Find(const QueuePair& queue_pair) const {
    return queue_pair.serial < by_serial_.size() ? by_serial_[queue_pair.serial] : nullptr;
  }
  // Requests and receives that were ever accepted.
  std::uint64_t posts() const { return posts_; }

  void OnEndpointOpened(const EndpointOpened& endpoint) override;
  void OnEndpointClosing(const QueuePair& queue_pair) override;
  void OnBatchLeft(const QueuePair& queue_pair, std::size_t requests) override;
  void OnPosted(const QueuePair& queue_pair, const fabric::efa_queue::SendWork& work,
                const Posted& posted, std::uint32_t peer) override;
  void OnReceivePosted(const QueuePair& queue_pair, const fabric::efa_queue::ReceiveWork& work,
                       const Posted& posted) override;
  void OnCompletionRead(const QueuePair& queue_pair, bool receive, std::uint16_t request_id,
                        std::uint8_t status) override;

 private:
  // --- fabric::ContextWatcher ---
  void OnOwnerGone(fabric::Context context) override;

  FindingLog& log_;
  const ProgramRules& rules_;
  Watches watches_;
  std::vector<EndpointWatch*> by_serial_;  // index = QueuePair::serial
  std::uint64_t posts_ = 0;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_CHECKS_ENDPOINT_CHECKS_H_
