// A queue pair as the NIC sees it: its identity, its posted receives, and where its completions go.

#ifndef SIM_QUEUE_PAIR_H_
#define SIM_QUEUE_PAIR_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "fabric/memory.h"
#include "fabric/operation.h"
#include "sim/completion_ring.h"
#include "sim/efa_address.h"
#include "sim/memory_table.h"
#include "sim/operation_table.h"

namespace sim {

// A send, write or read, as the host driver hands it to the NIC.
struct SendWork {
  std::uint16_t request_id = 0;
  fabric::OperationKind kind = fabric::OperationKind::kSend;
  fabric::LocalBuffer local;
  fabric::RemoteBuffer remote;  // writes and reads
  EfaAddress destination;
  std::optional<std::uint32_t> immediate;
};

// A posted receive.
struct ReceiveWork {
  std::uint16_t request_id = 0;
  fabric::LocalBuffer buffer;
};

// Lives in its NIC from creation to destruction. `number` may be used again by a later one; the
// random qkey tells them apart.
struct QueuePair {
  std::uint16_t number = 0;
  std::uint32_t qkey = 0;
  ProtectionDomain domain = 0;
  std::shared_ptr<CompletionRing> send_ring;
  std::shared_ptr<CompletionRing> receive_ring;
  std::deque<ReceiveWork> receives;  // posted and not consumed, oldest first
  std::deque<OperationId> waiting;   // peers' sends that found no receive and retry for ever
};

}  // namespace sim

#endif  // SIM_QUEUE_PAIR_H_
