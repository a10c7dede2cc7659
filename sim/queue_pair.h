// A queue pair of a simulated NIC: two rings of work, rung for by doorbells, and where their
// completions go.
//
//   driver: writes entries ──► ring ──► doorbell = running number of entries written
//   device:                    fetched, in order, up to the doorbell

#ifndef SIM_QUEUE_PAIR_H_
#define SIM_QUEUE_PAIR_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "fabric/efa_queue/receive_wqe.h"
#include "fabric/efa_queue/ring.h"
#include "fabric/efa_queue/wqe.h"
#include "sim/completion_ring.h"
#include "sim/memory_table.h"
#include "sim/operation.h"

namespace sim {

class Nic;
struct QueuePair;
struct WatchedQueue;

// EFA retries for ever with this number (FI_OPT_EFA_RNR_RETRY).
inline constexpr std::uint32_t kRetryForEver = 7;

// What the device writes in front of a datagram, and the driver leaves out of one (libfabric:
// msg_prefix_size).
inline constexpr std::uint64_t kDatagramPrefixBytes = 40;

enum class QueuePairType : std::uint8_t { kSrd, kUd };

// Of EFA's seven states, the two that a driver leaves a queue pair in.
enum class QueuePairState : std::uint8_t { kReadyToSend, kError };

// A posted receive, as the device finds it in its ring.
struct ReceiveWork {
  std::uint16_t request_id = 0;
  std::uint8_t segment_count = 0;
  bool malformed = false;  // consumed, and reported as failed
  std::array<Segment, fabric::efa_queue::kMaxReceiveSegments> segments{};
  std::uint64_t length = 0;
  std::uint32_t descriptors = 0;

  // As Operation::Walk.
  template <typename Visit>
  void Walk(Range range, Visit visit) const {
    WalkSegments({segments.data(), segment_count}, range, visit);
  }
};

enum class FetchResult { kOk, kMalformed, kUnknownOperation };

// The ring of sends, writes and reads.
class SendQueue {
 public:
  // REQUIRES: entries is a power of two, at most 32768.
  SendQueue(std::uint32_t entries, bool wide, std::uint32_t max_batch)
      : format_{.wide = wide},
        fetcher_(entries, max_batch),
        max_batch_(max_batch),
        memory_(std::size_t{entries} * format_.entry_bytes() / sizeof(std::uint64_t)) {}

  // --- For the driver ---
  std::uint32_t entries() const { return fetcher_.entries(); }
  fabric::efa_queue::SendFormat format() const { return format_; }
  // Work requests that may be written between two doorbells.
  std::uint32_t max_batch() const { return max_batch_; }
  // Device memory: entries() entries of format().entry_bytes().
  void* Slot(std::uint32_t slot) { return memory_.data() + slot * (format_.entry_bytes() / 8); }

  // --- For the device ---
  fabric::efa_queue::DoorbellFault Ring(std::uint32_t doorbell) {
    return fetcher_.Announce(doorbell);
  }
  std::uint32_t unfetched() const { return fetcher_.pending(); }
  // Reads the entry that is `ahead` of the next one. REQUIRES: ahead < unfetched().
  DD_HOT fabric::efa_queue::Malformed Decode(std::uint32_t ahead,
                                             fabric::efa_queue::SendWork& work) {
    const std::uint32_t counter = fetcher_.fetched() + ahead;
    const unsigned phase = (counter & entries()) != 0 ? 1 : 0;
    return fabric::efa_queue::DecodeSend(Slot(counter & (entries() - 1)), format_, phase, work);
  }
  // The same, as an operation; `operation.request_id` is set in any case.
  FetchResult Fetch(std::uint32_t ahead, Operation& operation);
  // The next `count` entries were taken.
  void Advance(std::uint32_t count) { fetcher_.Fetch(count); }

 private:
  const fabric::efa_queue::SendFormat format_;
  fabric::efa_queue::Fetcher fetcher_;
  const std::uint32_t max_batch_;
  std::vector<std::uint64_t> memory_;
};

// The ring of receives, one descriptor a segment, in host memory.
class ReceiveQueue {
 public:
  // REQUIRES: descriptors is a power of two, at most 32768.
  ReceiveQueue(std::uint32_t descriptors, std::uint32_t max_segments)
      : fetcher_(descriptors, descriptors), max_segments_(max_segments), memory_(descriptors) {}

  // --- For the driver ---
  std::uint32_t descriptors() const { return fetcher_.entries(); }
  void* memory() { return memory_.data(); }

  // --- For the device ---
  fabric::efa_queue::DoorbellFault Ring(std::uint32_t doorbell) {
    return fetcher_.Announce(doorbell);
  }
  // Descriptors that were rung for and not consumed.
  std::uint32_t posted() const { return fetcher_.pending(); }
  // The oldest receive that was posted and not consumed; false when there is none.
  bool Peek(ReceiveWork& receive) const;
  void Consume(const ReceiveWork& receive) { fetcher_.Fetch(receive.descriptors); }

 private:
  fabric::efa_queue::Fetcher fetcher_;
  const std::uint32_t max_segments_;
  std::vector<fabric::efa_queue::ReceiveDescriptor> memory_;
};

// Completions counted by the device itself.
enum class CounterKind : std::uint8_t {
  kSends,
  kReceives,
  kWrites,
  kReads,
  kRemoteWrites,
  kRemoteReads
};
inline constexpr std::size_t kCounterKinds = 6;

struct CounterCore {
  std::uint64_t value = 0;
  std::uint64_t errors = 0;
};
using CounterSet = std::array<std::shared_ptr<CounterCore>, kCounterKinds>;

// What a driver asks for.
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

// Where the last write of live mode went, so that the next one to the same place is served without
// looking everything up again. Good as long as World::changes() is what it was.
struct Route {
  std::uint64_t changes = 0;  // 0: there is none
  // As the work request says it.
  std::uint32_t qkey = 0;
  std::uint16_t queue_pair = 0;
  std::uint16_t address_handle = 0;
  Nic* peer = nullptr;
  QueuePair* target = nullptr;
  std::uint16_t source_handle = 0;  // by which the target knows us
  bool used = false;
};

// Lives in its NIC from creation to destruction. `number` may be used again by a later one; the
// random qkey tells them apart.
struct QueuePair {
  QueuePair(const QueuePairAttributes& attributes, std::uint32_t max_batch,
            std::uint32_t max_segments)
      : type(attributes.type),
        domain(attributes.domain),
        rnr_retries(attributes.rnr_retries),
        unsolicited_immediates(attributes.unsolicited_immediates),
        send(attributes.send_entries, attributes.wide, max_batch),
        receive(attributes.receive_descriptors, max_segments),
        send_ring(attributes.send_ring),
        receive_ring(attributes.receive_ring),
        counters(attributes.counters) {}

  std::uint16_t number = 0;
  std::uint32_t qkey = 0;
  std::uint32_t ordinal = 0;  // the how-manieth of its NIC, from 0
  const QueuePairType type;
  QueuePairState state = QueuePairState::kReadyToSend;
  const ProtectionDomain domain;
  std::uint32_t rnr_retries;
  const bool unsolicited_immediates;
  bool waits_for_fetch = false;
  fabric::efa_queue::DoorbellFault last_doorbell_fault = fabric::efa_queue::DoorbellFault::kNone;
  Route route;
  SendQueue send;
  ReceiveQueue receive;
  const std::shared_ptr<CompletionRing> send_ring;
  const std::shared_ptr<CompletionRing> receive_ring;
  const CounterSet counters;
  WatchedQueue* watched = nullptr;  // what the checks know of its requests; null: nothing
  std::deque<OperationId> waiting;  // peers' work that found no receive and retries for ever
};

}  // namespace sim

#endif  // SIM_QUEUE_PAIR_H_
