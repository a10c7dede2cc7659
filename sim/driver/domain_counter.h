// A counter of a domain: the device's, or the driver's where the device has none or none left.

#ifndef DRYDOCK_SIM_DRIVER_DOMAIN_COUNTER_H_
#define DRYDOCK_SIM_DRIVER_DOMAIN_COUNTER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/fabric/counter_memory.h"
#include "drydock/fabric/peer_memory.h"
#include "drydock/sim/device/completion_counters.h"
#include "drydock/sim/driver/domain_core.h"
#include "drydock/sim/driver/queue_core.h"

namespace drydock::sim {

// Shared by its handle and the endpoints that raise it. Not thread-safe.
class DomainCounter {
 public:
  // A word of the program's that the device writes.
  struct Word {
    std::byte* at = nullptr;                     // null: there is none
    std::shared_ptr<fabric::PeerMemory> pinned;  // of a device's memory
  };

  // As libfabric opens it: in the device, or else in software (ofiwg/libfabric
  // prov/efa/src/efa_cntr.c, efa_cntr_open).
  static std::shared_ptr<DomainCounter> Open(std::shared_ptr<DomainCore> domain);
  // In the device; errors as fabric::CountersInMemory.
  static absl::StatusOr<std::shared_ptr<DomainCounter>> OpenIn(std::shared_ptr<DomainCore> domain,
                                                               const fabric::CounterMemory& memory);

  // `core` is the device's, or null: the driver counts.
  DomainCounter(std::shared_ptr<DomainCore> domain, std::shared_ptr<CounterCore> core);
  DomainCounter(const DomainCounter&) = delete;
  DomainCounter& operator=(const DomainCounter&) = delete;
  ~DomainCounter();

  const std::shared_ptr<DomainCore>& domain() const { return domain_; }
  const std::shared_ptr<CounterCore>& core() const { return core_; }
  bool in_device() const { return in_device_; }

  // The value that a program reads; 0 where the number is in a device's memory.
  std::uint64_t value() const { return successes_.pinned != nullptr ? 0 : core_->value; }
  std::uint64_t errors() const { return failures_.pinned != nullptr ? 0 : core_->errors; }

  // A queue of an endpoint for which the driver raises it: a read of the counter makes progress
  // there.
  void AddQueue(const std::shared_ptr<QueueCore>& queue);
  // Stages entries of those queues.
  void Progress();

 private:
  void Store(const Word& word, std::uint64_t number) const;

  const std::shared_ptr<DomainCore> domain_;
  const std::shared_ptr<CounterCore> core_;
  const bool in_device_;
  Word successes_;
  Word failures_;
  std::vector<std::weak_ptr<QueueCore>> queues_;  // those that are gone do not matter
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DRIVER_DOMAIN_COUNTER_H_
