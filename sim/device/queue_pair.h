// A queue pair of a simulated NIC: two rings of work, and where their completions go.

#ifndef DRYDOCK_SIM_DEVICE_QUEUE_PAIR_H_
#define DRYDOCK_SIM_DEVICE_QUEUE_PAIR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "drydock/fabric/efa_queue/ring.h"
#include "drydock/sim/device/completion_counters.h"
#include "drydock/sim/device/completion_ring.h"
#include "drydock/sim/device/operation.h"
#include "drydock/sim/device/receive_queue.h"
#include "drydock/sim/device/send_queue.h"
#include "drydock/sim/memory/memory_table.h"

namespace drydock::sim {

// EFA retries for ever with this number (FI_OPT_EFA_RNR_RETRY).
inline constexpr std::uint32_t kRetryForEver = 7;

// The bytes that the device writes in front of a datagram, and the driver leaves out of one
// (libfabric: msg_prefix_size).
inline constexpr std::uint64_t kDatagramPrefixBytes = 40;

enum class QueuePairType : std::uint8_t { kSrd, kUd };

// Of EFA's seven states, those that differ to the device. kInit: not ready yet; it keeps the
// receives that are posted. kError: all that is posted is flushed.
enum class QueuePairState : std::uint8_t { kInit, kReadyToSend, kError };

// The attributes that a driver asks for.
struct QueuePairAttributes {
  QueuePairType type = QueuePairType::kSrd;
  ProtectionDomain domain = 0;
  std::shared_ptr<CompletionRing> send_ring;
  std::shared_ptr<CompletionRing> receive_ring;
  std::uint32_t send_entries = 0;  // a power of two
  bool wide = false;               // 128-byte work requests
  std::uint32_t receive_descriptors = 0;
  std::uint32_t rnr_retries = kRetryForEver;
  bool unsolicited_immediates = true;
  CounterSet counters;
};

// Lives in its NIC from creation to destruction.
struct QueuePair {
  QueuePair(const QueuePairAttributes& attributes, std::uint32_t max_batch,
            std::uint32_t max_segments)
      : type(attributes.type),
        domain(attributes.domain),
        unsolicited_immediates(attributes.unsolicited_immediates),
        rnr_retries(attributes.rnr_retries),
        send(attributes.send_entries, attributes.wide, max_batch),
        receive(attributes.receive_descriptors, max_segments),
        send_ring(attributes.send_ring),
        receive_ring(attributes.receive_ring),
        counters(attributes.counters) {}

  // --- Identity ---
  std::uint32_t serial = 0;   // in its world, from 1: never used again; another after a reset
  std::uint32_t ordinal = 0;  // index among all queue pairs that its NIC ever had
  std::uint16_t number = 0;   // the device's: used again after its destruction; the qkey differs
  std::uint32_t qkey = 0;
  const QueuePairType type;
  const ProtectionDomain domain;
  const bool unsolicited_immediates;  // a peer's immediate takes no receive
  std::uint32_t rnr_retries;          // the driver may modify it

  // --- Its state ---
  QueuePairState state = QueuePairState::kReadyToSend;
  bool drained = false;          // IBV_QPS_SQD: work that is rung for waits until it sends again
  bool waits_for_fetch = false;  // it has work that was rung for, and the requester knows
  fabric::efa_queue::DoorbellFault last_doorbell_fault = fabric::efa_queue::DoorbellFault::kNone;
  std::uint32_t under_way = 0;         // of its work requests: fetched, and not completed
  std::vector<OperationId> waiting;    // peers' work that found no receive and retries for ever
  std::vector<std::uint16_t> landing;  // request ids of receives whose message is not there yet

  // --- Its rings ---
  SendQueue send;
  ReceiveQueue receive;
  const std::shared_ptr<CompletionRing> send_ring;
  const std::shared_ptr<CompletionRing> receive_ring;
  CounterSet counters;  // the driver may attach more
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DEVICE_QUEUE_PAIR_H_
