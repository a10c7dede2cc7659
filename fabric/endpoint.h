// The endpoint, where operations are posted: the heart of the contract. Read this file first.
//
//   fabric::WriteRequest write;
//   write.source = region->Local(0, 4096);
//   write.target = peer_memory;
//   write.peer = peer;
//   write.immediate = 7;
//   write.context = fabric::Context{42};
//   switch (endpoint->Write(write)) {
//     case fabric::ErrorCode::kOk:
//       return Next::kAwait;  // exactly one completion with context 42 will come
//     case fabric::ErrorCode::kAgain:
//       return Next::kRetry;  // nothing happened: read the completion queue first
//     default:
//       return Next::kGiveUp;  // nothing happened, and this request never succeeds
//   }
//
// (A test compiles and runs this: testing/readme/header_examples_test.cc.)
//
// The semantics are those of EFA's `efa-direct`: one post is one work request is one completion. A
// program may not rely on what EFA does not promise: requests to one peer land in any order, bytes
// of one write land in any order, and a completion says nothing about any other request (unless
// NicInfo::capabilities says otherwise).

#ifndef DRYDOCK_FABRIC_ENDPOINT_H_
#define DRYDOCK_FABRIC_ENDPOINT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "drydock/fabric/address.h"
#include "drydock/fabric/address_vector.h"
#include "drydock/fabric/capability.h"
#include "drydock/fabric/completion_queue.h"
#include "drydock/fabric/counter.h"
#include "drydock/fabric/error.h"
#include "drydock/fabric/limits.h"
#include "drydock/fabric/operation.h"

namespace drydock::fabric {

enum class EndpointType : std::uint8_t {
  kReliable,  // FI_EP_RDM; on EFA one SRD queue pair
  // FI_EP_DGRAM; on EFA one UD queue pair. Messages only, one packet each, that may be lost. The
  // first Limits::datagram_prefix_bytes of every buffer belong to the provider: a Send skips them,
  // a Recv leaves them, and a completion's length counts them. Needs Capability::kDatagram.
  kDatagram,
};

// An endpoint's parts and options. All parts must come from the domain that opens it; the two
// queues may be one. A backend refuses an option that it cannot give with kUnimplemented, naming
// it.
struct EndpointOptions {
  CompletionQueue* send_queue = nullptr;     // completions of Send, Write, Read
  CompletionQueue* receive_queue = nullptr;  // completions of Recv, and of peers' immediates
  AddressVector* address_vector = nullptr;
  EndpointType type = EndpointType::kReliable;
  // How often the NIC retries a send that found no receive: 0 to 6, or 7 for ever
  // (FI_OPT_EFA_RNR_RETRY). Absent: the fabric's default, 7 on efa-direct. Needs
  // Capability::kReceiverNotReadyRetry.
  std::optional<std::uint32_t> receiver_not_ready_retries;
  // Peers' immediates on writes each take a posted receive (FI_RX_CQ_DATA), and wait for one where
  // there is none. Both ends want that or neither: else writes with immediate end with
  // kFeatureMismatch. Needs Capability::kSolicitedImmediate.
  bool receives_take_immediates = false;
  // Wishes for injects of this size. Over 32 bytes EFA uses work requests of 128 bytes, half as
  // many as the send queue has otherwise, and can inject writes too (up to 80 bytes); see limits()
  // for what was granted. 0: the default.
  std::size_t inject_bytes = 0;
  CounterBindings counters;  // fabric/counter.h; needs Capability::kCounters
};

// The result of one post of several requests.
struct PostResult {
  std::size_t accepted = 0;  // the first `accepted` requests are in flight, the others untouched
  ErrorCode error = ErrorCode::kOk;  // why the next one was not: kOk when all were accepted
};

// What it is: a reliable datagram endpoint (FI_EP_RDM; on EFA one SRD queue pair), ready to use.
// Ownership: belongs to the caller that opened it. The memory, region and peer that a request names
// must stay until its completion was read; the request itself is copied. Threads: one thread at a
// time, together with its completion queues (EFA's provider is safest so). Blocking: never.
// Destruction: closes. Requests in flight may or may not complete then, and their memory is free to
// go: nothing lands in it any more.
class Endpoint : public Capable {
 public:
  // Post requests in order and ring the NIC once. Each accepted request that has a context yields
  // exactly one completion. Errors, none of which has any effect:
  //   kAgain            the queue is full; slots come back only by reading the completion queue
  //   kUnknownPeer      the peer is not in this endpoint's address vector
  //   kLocalAccess      the buffer's local key was refused before the NIC saw it
  //   kMessageTooLong   over Limits::max_message_bytes or max_rma_bytes, where the backend looks;
  //                     where only the NIC does, the completion fails with it
  //   kRemoteAccess     the peer's range wraps around at the last address, where the backend looks;
  //                     else the completion fails with it
  //   kUnsupported      the NIC lacks the operation, or what a field of the request asks for
  //   kInvalidArgument  more segments than the NIC takes, a datagram buffer without room for its
  //                     prefix, or a buffer of no region (Capability::kLocalRegistration)
  //   kClosed           the endpoint was closed
  // Everything that only the NIC or the peer can find out arrives as a failed completion.
  //
  // Messages, each into one receive that the peer has posted.
  virtual PostResult Send(std::span<const SendRequest> requests) = 0;
  // Room for messages. A receive stays posted until a message takes it, or the endpoint closes.
  virtual PostResult Recv(std::span<const RecvRequest> requests) = 0;
  // Into memory of the peer. Its program takes no part; it hears of writes with immediate only.
  virtual PostResult Write(std::span<const WriteRequest> requests) = 0;
  // From memory of the peer, whose program takes no part and hears nothing.
  virtual PostResult Read(std::span<const ReadRequest> requests) = 0;

  // One request.
  [[nodiscard]] ErrorCode Send(const SendRequest& request) { return Send({&request, 1}).error; }
  [[nodiscard]] ErrorCode Recv(const RecvRequest& request) { return Recv({&request, 1}).error; }
  [[nodiscard]] ErrorCode Write(const WriteRequest& request) { return Write({&request, 1}).error; }
  [[nodiscard]] ErrorCode Read(const ReadRequest& request) { return Read({&request, 1}).error; }

  // The domain's limits, as EndpointOptions changed them for this endpoint.
  virtual const Limits& limits() const = 0;

  // The address that peers insert to reach this endpoint.
  virtual Address address() const = 0;

  // Ends every request. Completions that were not read before are dropped: a program that wants
  // them reads its queues first. Those of requests under way may come as kCanceled, or not at all.
  // Closing twice is harmless.
  virtual absl::Status Close() = 0;
};

}  // namespace drydock::fabric

#endif  // DRYDOCK_FABRIC_ENDPOINT_H_
