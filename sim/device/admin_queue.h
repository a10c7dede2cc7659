// The control path of a NIC: executes the driver's commands (the admin queue of EFA's driver,
// amzn-drivers kernel/linux/efa/src/efa_admin_cmds_defs.h).

#ifndef DRYDOCK_SIM_DEVICE_ADMIN_QUEUE_H_
#define DRYDOCK_SIM_DEVICE_ADMIN_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drydock/fabric/memory.h"
#include "drydock/sim/device/completion_counters.h"
#include "drydock/sim/device/completion_ring.h"
#include "drydock/sim/device/nic_state.h"
#include "drydock/sim/device/queue_pair.h"
#include "drydock/sim/device/requester.h"
#include "drydock/sim/device/responder.h"
#include "drydock/sim/device/surroundings.h"
#include "drydock/sim/efa_address.h"
#include "drydock/sim/memory/memory_table.h"
#include "drydock/sim/random.h"

namespace drydock::sim {

// Of one NIC. Each command is counted, as is each refusal. A command that asks for one object more
// than the device has answers kResourceExhausted, naming the limit, and nothing happens. Not
// thread-safe. Its constructor's arguments outlive it.
class AdminQueue {
 public:
  // `qkeys`: where the keys of queue pairs come from.
  AdminQueue(NicState& nic, Surroundings& around, Requester& requester, Responder& responder,
             const RandomStream& qkeys)
      : nic_(nic),
        around_(around),
        requester_(requester),
        responder_(responder),
        qkeys_(qkeys),
        domains_(1, true) {}

  // --- Protection domains ---
  absl::StatusOr<ProtectionDomain> AllocateDomain();
  void FreeDomain(ProtectionDomain domain);

  // --- Memory ---
  // As MemoryTable::Register.
  absl::StatusOr<MemoryTable::Keys> RegisterMemory(ProtectionDomain domain, std::byte* data,
                                                   std::size_t length_bytes, fabric::Access access,
                                                   std::uint64_t page_bytes = 0);
  // REQUIRES: `remote_key` is of a live registration.
  void DeregisterMemory(std::uint32_t remote_key);

  // --- Addresses ---
  // kInvalidArgument: no NIC has this GID, or one of another availability zone. The device answers
  // both with EINVAL (ofiwg/libfabric pull request 12136).
  absl::StatusOr<std::uint16_t> CreateAddressHandle(ProtectionDomain domain, const Gid& peer);
  // Gives up a reference. With the last one, work under way to the handle ends with kFlushed, and
  // later work with kLocalInvalidAddressHandle. REQUIRES: `number` is live.
  void DestroyAddressHandle(std::uint16_t number);

  // --- Queues ---
  // `depth` is a power of two. `memory`: as CompletionRing. A queue that raises `events` has a
  // doorbell, others where the device gives it one. The number is free again when the last owner has
  // given the ring back.
  absl::StatusOr<std::shared_ptr<CompletionRing>> CreateCompletionRing(std::size_t depth,
                                                                       std::byte* memory = nullptr,
                                                                       bool events = false);
  void DestroyCompletionRing() { nic_.counters.Commands(1); }
  // A completion counter of the device, at 0, for queue pairs to raise.
  absl::StatusOr<std::shared_ptr<CounterCore>> CreateCounter();
  // One of them is free again.
  void DestroyCounter();
  // In state kReadyToSend at once. Valid until DestroyQueuePair.
  absl::StatusOr<QueuePair*> CreateQueuePair(const QueuePairAttributes& attributes);
  // Ends its work requests without completions; packets under way to or from it come to nothing.
  void DestroyQueuePair(QueuePair& queue_pair);
  // It is in error until it is reset: its work is flushed.
  void FailQueuePair(QueuePair& queue_pair);
  // In state kInit, and as new but for its number and qkey: it has forgotten all that was posted,
  // and its rings start at 0. Work requests, and packets under way, end as in DestroyQueuePair.
  void ResetQueuePair(QueuePair& queue_pair);
  // Work that is posted waits until ResumeQueuePair. What was under way goes on.
  void DrainQueuePair(QueuePair& queue_pair) { requester_.Drain(queue_pair); }
  void ResumeQueuePair(QueuePair& queue_pair) { requester_.Resume(queue_pair); }

 private:
  // Nobody hears of its work requests any more.
  void Abandon(QueuePair& queue_pair);
  absl::Status RefuseHandle(absl::string_view why);

  NicState& nic_;
  Surroundings& around_;
  Requester& requester_;
  Responder& responder_;
  RandomStream qkeys_;
  std::vector<bool> domains_;  // index = number; true: allocated. Number 0 is no domain
  std::vector<std::weak_ptr<CompletionRing>> completion_rings_;  // index = number
  std::uint32_t queue_pairs_made_ = 0;
  std::uint32_t completion_counters_ = 0;  // that are open
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DEVICE_ADMIN_QUEUE_H_
