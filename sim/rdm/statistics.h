// Counts of protocol events that are not reported: a power of the endpoints of this backend.
//
//   auto* noticed = endpoint.power<sim::rdm::EndpointStatistics>();

#ifndef DRYDOCK_SIM_RDM_STATISTICS_H_
#define DRYDOCK_SIM_RDM_STATISTICS_H_

#include <cstdint>

#include "drydock/fabric/capability.h"

namespace drydock::sim::rdm {

struct Statistics {
  // --- Packets that were received and dropped ---
  std::uint64_t malformed = 0;       // that make no sense
  std::uint64_t wrong_connid = 0;    // from a queue pair that is not the one we know
  std::uint64_t unknown_sender = 0;  // whose sender is missing, or impossible
  std::uint64_t duplicates = 0;      // messages, or bytes of one, that came before
  std::uint64_t strays = 0;          // for operations that do not exist, or that do not want them
  std::uint64_t too_early = 0;       // of messages for which the window has no room
  // --- Requests that were refused, because the peer has too many under way ---
  std::uint64_t refused_requests = 0;
  // --- Messages that no receive fits ---
  std::uint64_t unexpected = 0;        // that are waiting now
  std::uint64_t unexpected_bytes = 0;  // of these
  std::uint64_t stalled = 0;           // packets that had to wait for room
  // --- Answers that were not sent, because the peer lets too many wait ---
  std::uint64_t unsent_answers = 0;
  // --- Order ---
  std::uint64_t early = 0;       // messages held until their turn
  std::uint64_t overflowed = 0;  // of these, beyond the window
  // --- Protocols, by received messages ---
  std::uint64_t eager = 0;
  std::uint64_t medium = 0;
  std::uint64_t long_cts = 0;
  std::uint64_t long_read = 0;
  std::uint64_t emulated_writes = 0;
  std::uint64_t emulated_reads = 0;
  std::uint64_t atomics = 0;
  std::uint64_t read_nacks = 0;
  // --- Receiver not ready ---
  std::uint64_t refused_packets = 0;  // that the device gave up on
  std::uint64_t backoffs = 0;         // times that a peer was let alone
};

class EndpointStatistics {
 public:
  static constexpr fabric::PowerId kPower{"EndpointStatistics"};
  virtual ~EndpointStatistics() = default;

  // Lives as long as the endpoint, and counts until it is closed.
  virtual const Statistics& statistics() const = 0;
};

}  // namespace drydock::sim::rdm

#endif  // DRYDOCK_SIM_RDM_STATISTICS_H_
