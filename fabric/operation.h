// Work requests and completions: the plain values of the data path.
//
// All are trivially destructible. Not for speed: GCC 12 destroys aggregate temporaries of a
// co_await expression twice, and these are exactly what one writes there (docs/coroutine-traps.md).

#ifndef DRYDOCK_FABRIC_OPERATION_H_
#define DRYDOCK_FABRIC_OPERATION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include "drydock/fabric/error.h"
#include "drydock/fabric/memory.h"

namespace drydock::fabric {

// The caller's own 64 bits, handed back with the completion of a request. A request without one is
// unsignalled: its success is not reported, its failure is, with no context. It names one request
// of a kind in flight on an endpoint: the completions of two could not be told apart (the
// simulator reports them; a program that only counts gives them different contexts all the same).
enum class Context : std::uint64_t {};

// A peer in an address vector (libfabric: fi_addr_t).
enum class Peer : std::uint64_t {};

// No particular peer (libfabric: FI_ADDR_UNSPEC, FI_ADDR_NOTAVAIL). No address vector returns it.
inline constexpr Peer kNoPeer = static_cast<Peer>(UINT64_MAX);

// Further segments of a message, after its first: as many as Limits::send_segments or
// receive_segments less one. The list is read during the post and may go afterwards; the memory
// that it names may not.
using MoreSegments = std::span<const LocalBuffer>;

// Sends `buffer` into a receive of the peer. Needs Access::kSend.
struct SendRequest {
  LocalBuffer buffer;
  Peer peer{};
  std::optional<std::uint32_t> immediate;
  std::optional<Context> context;
  MoreSegments more{};  // kInvalidArgument: more than Limits::send_segments in all
  // The bytes are taken during the post (libfabric: FI_INJECT): the buffer is free, and needs no
  // registration. kMessageTooLong: over Limits::inject_bytes. kUnsupported: no Capability::kInject.
  bool inject = false;
};

// Takes one message from any peer into `buffer`. Needs Access::kReceive.
struct RecvRequest {
  LocalBuffer buffer;
  std::optional<Context> context;
  MoreSegments more{};    // kInvalidArgument: more than Limits::receive_segments in all
  Peer source = kNoPeer;  // only from this peer; kUnsupported without Capability::kDirectedReceive
  // The buffer takes message after message until less than Limits::multi_receive_bytes are left
  // (libfabric: FI_MULTI_RECV). Each yields a completion with this context; the last one says
  // Completion::buffer_released. A message longer than what is left is cut (kTruncated), and none
  // comes after it. libfabric's tcp does not tell how long a message was whose connection was lost:
  // what then still comes into the buffer may be dropped. kInvalidArgument: more than one segment.
  // kUnsupported without Capability::kMultiReceive.
  bool multi = false;
};

// Writes `source` to `target` at the peer; with an immediate, the peer gets a completion after the
// last byte of this write (and no promise about any other write). Needs Access::kWrite here and
// Access::kRemoteWrite there.
struct WriteRequest {
  LocalBuffer source;
  RemoteBuffer target;
  Peer peer{};
  std::optional<std::uint32_t> immediate;
  std::optional<Context> context;
  // As SendRequest::inject, up to Limits::inject_rma_bytes.
  bool inject = false;
};

// Reads from `source` at the peer into `target`. Needs Access::kRead here and Access::kRemoteRead
// there.
struct ReadRequest {
  LocalBuffer target;
  RemoteBuffer source;
  Peer peer{};
  std::optional<Context> context;
};

static_assert(std::is_trivially_destructible_v<SendRequest>);
static_assert(std::is_trivially_destructible_v<RecvRequest>);
static_assert(std::is_trivially_destructible_v<WriteRequest>);
static_assert(std::is_trivially_destructible_v<ReadRequest>);

enum class OperationKind : std::uint8_t {
  kSend,
  kReceive,
  kWrite,  // our own write
  kRead,
  kRemoteWrite,  // a peer's write with immediate to our memory
  kTaggedSend,   // fabric/tagged_messages.h
  kTaggedReceive,
  kAtomic,  // fabric/atomics.h
};

constexpr std::string_view Name(OperationKind kind) {
  switch (kind) {
    case OperationKind::kSend:
      return "send";
    case OperationKind::kReceive:
      return "receive";
    case OperationKind::kWrite:
      return "write";
    case OperationKind::kRead:
      return "read";
    case OperationKind::kRemoteWrite:
      return "remote write";
    case OperationKind::kTaggedSend:
      return "tagged send";
    case OperationKind::kTaggedReceive:
      return "tagged receive";
    case OperationKind::kAtomic:
      return "atomic";
  }
  return "unknown";
}

// One entry of a completion queue. A failed operation is an ordinary entry with an error.
struct alignas(16) Completion {
  // Of the request that completed; for a kRemoteWrite that consumed a receive, of that receive.
  // Absent for unsolicited immediates and for failures of unsignalled requests: there is no awaiter
  // to resume, and callers must not invent one.
  std::optional<Context> context;
  OperationKind kind = OperationKind::kSend;
  ErrorCode error = ErrorCode::kOk;
  bool buffer_released = false;  // of a `multi` receive: the buffer is the program's again
  // The provider's own number where `error` is set. EFA: the device's status, or >= 4096.
  std::int32_t provider_error = 0;
  std::optional<std::uint32_t> immediate;  // kReceive, kTaggedReceive and kRemoteWrite
  // Received, or written by the peer where the backend tells; 0 otherwise.
  std::uint64_t length_bytes = 0;
  Peer source = kNoPeer;      // the sender; kNoPeer: not told, or not in the address vector
  std::uint64_t tag = 0;      // kTaggedReceive: the sender's
  std::byte* data = nullptr;  // of a `multi` receive: where this message begins

  bool ok() const { return error == ErrorCode::kOk; }
};
static_assert(std::is_trivially_destructible_v<Completion>);
static_assert(sizeof(Completion) == 64);  // a cache line: every one of them is written in full

}  // namespace drydock::fabric

#endif  // DRYDOCK_FABRIC_OPERATION_H_
