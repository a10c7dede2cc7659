// The state of one peer at one endpoint.

#ifndef DRYDOCK_SIM_RDM_PEER_H_
#define DRYDOCK_SIM_RDM_PEER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "drydock/fabric/operation.h"
#include "drydock/sim/rdm/address_book.h"
#include "drydock/sim/rdm/backoff.h"
#include "drydock/sim/rdm/packet.h"
#include "drydock/sim/rdm/reorder_window.h"
#include "drydock/sim/rdm/settings.h"

namespace drydock::sim::rdm {

// An answer for which no packet was free.
struct Answer {
  PacketHeader header;
  std::vector<std::byte> payload;
  OperationId owner = kNoOperation;
};

// A write or read that waits for the peer's features.
using WaitingAccess = std::variant<fabric::WriteRequest, fabric::ReadRequest>;

// Plain data, one part for each mechanism that works on it. Lives as long as its endpoint.
struct Peer {
  Peer(std::shared_ptr<AddressEntry> address, const Settings& settings, std::uint64_t seed)
      : entry(std::move(address)),
        window(settings.reorder_window, 0, settings.early_bytes),
        backoff(settings, seed) {}

  const std::shared_ptr<AddressEntry> entry;

  // --- Order ---
  std::uint32_t next_message = 0;               // number of our next message or atomic to it
  ReorderWindow window;                         // of its messages and atomics to us
  std::map<std::uint32_t, OperationId> medium;  // its messages of several packets that have begun
  bool due_stalled = false;                     // the message that is due waits for room

  // --- Its requests to us ---
  std::size_t served = 0;  // its emulated writes and reads that are under way

  // --- Handshake ---
  bool handshake_sent = false;
  bool handshake_received = false;
  bool handshake_asked = false;  // we have sent something only to be answered
  std::uint64_t features = 0;    // of the peer; 0 before its handshake
  std::deque<WaitingAccess> waiting;

  // --- Packets to it (packet_sender.h) ---
  Backoff backoff;
  std::deque<std::uint32_t> parked;  // packets that wait for the end of the back-off
  std::deque<Answer> answers;
  std::uint64_t answer_bytes = 0;  // of their payloads
  std::size_t answers_in_flight = 0;
};

}  // namespace drydock::sim::rdm

#endif  // DRYDOCK_SIM_RDM_PEER_H_
