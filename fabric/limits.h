// The limits of a NIC, as its provider reports them.

#ifndef DRYDOCK_FABRIC_LIMITS_H_
#define DRYDOCK_FABRIC_LIMITS_H_

#include <cstddef>
#include <cstdint>

namespace drydock::fabric {

// A depth or a size of zero means that the operation does not exist; kUnlimited that the provider
// names no limit. Read these back from the opened domain, never assume them: EFA's send queue has
// 4096 entries on p5, 2048 on p6-b300.
struct Limits {
  static constexpr std::uint64_t kUnlimited = UINT64_MAX;

  std::size_t address_bytes = 0;  // length of an Address; 0: it varies
  // Sends, writes and reads in flight per endpoint, until their completion is read.
  std::size_t send_queue_depth = 0;
  std::size_t receive_queue_depth = 0;     // receives posted per endpoint
  std::size_t completion_queue_depth = 0;  // entries of a queue opened with the default options
  std::uint64_t max_message_bytes = 0;     // one Send
  std::uint64_t max_rma_bytes = 0;         // one Write or Read
  std::size_t inject_bytes = 0;            // most bytes of an injected Send, a part of the request
  std::size_t inject_rma_bytes = 0;        // most bytes of an injected Write
  std::size_t multi_receive_bytes = 0;     // a `multi` receive ends when less than this is left
  std::size_t datagram_bytes = 0;          // one Send of a datagram endpoint, its prefix included
  std::size_t datagram_prefix_bytes = 0;   // of each of its buffers
  std::size_t send_segments = 0;           // local segments of a Send
  std::size_t receive_segments = 0;        // local segments of a Recv
  std::size_t rma_segments = 0;            // local segments of a Write or Read
  std::size_t mtu_bytes = 0;               // payload of one packet; 0: not told
  std::size_t key_bytes = 0;               // of a remote key
  std::size_t immediate_bytes = 0;  // of an immediate on the wire; the contract uses 4 of them
  std::uint64_t max_endpoints = 0;  // per domain
  std::uint64_t max_completion_queues = 0;  // per domain
  std::uint64_t max_memory_regions = 0;     // per domain; 0: not told
};

}  // namespace drydock::fabric

#endif  // DRYDOCK_FABRIC_LIMITS_H_
