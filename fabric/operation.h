// Work requests and completions: the plain values of the data path.
//
// All are trivially destructible. Not for speed: GCC 12 destroys aggregate temporaries of a co_await expression twice,
// and these are exactly what one writes there (docs/errors.md).

#ifndef FABRIC_OPERATION_H_
#define FABRIC_OPERATION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include "fabric/error.h"
#include "fabric/memory.h"

namespace fabric {

// The caller's own 64 bits, handed back with the completion of a request. A request without one is unsignalled: its
// success is not reported, its failure is, with no context.
enum class Context : std::uint64_t {};

// A peer in an address vector (libfabric: fi_addr_t).
enum class Peer : std::uint64_t {};

// Sends `buffer` into a receive of the peer. Needs Access::kSend.
struct SendRequest {
  LocalBuffer buffer;
  Peer peer{};
  std::optional<std::uint32_t> immediate;
  std::optional<Context> context;
};

// Takes one message from any peer into `buffer`. Needs Access::kReceive.
struct RecvRequest {
  LocalBuffer buffer;
  std::optional<Context> context;
};

// Writes `source` to `target` at the peer; with an immediate, the peer gets a completion after the last byte of this
// write (and no promise about any other write). Needs Access::kWrite here and Access::kRemoteWrite there.
struct WriteRequest {
  LocalBuffer source;
  RemoteBuffer target;
  Peer peer{};
  std::optional<std::uint32_t> immediate;
  std::optional<Context> context;
};

// Reads from `source` at the peer into `target`. Needs Access::kRead here and Access::kRemoteRead there.
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
  kWrite,        // our own write
  kRead,
  kRemoteWrite,  // a peer's write with immediate to our memory
};

constexpr std::string_view Name(OperationKind kind) {
  switch (kind) {
    case OperationKind::kSend: return "send";
    case OperationKind::kReceive: return "receive";
    case OperationKind::kWrite: return "write";
    case OperationKind::kRead: return "read";
    case OperationKind::kRemoteWrite: return "remote write";
  }
  return "unknown";
}

// One entry of a completion queue. A failed operation is an ordinary entry with an error.
struct Completion {
  // Of the request that completed; for a kRemoteWrite that consumed a receive, of that receive. Absent for unsolicited
  // immediates and for failures of unsignalled requests: there is no awaiter to resume, and callers must not invent one.
  std::optional<Context> context;
  OperationKind kind = OperationKind::kSend;
  ErrorCode error = ErrorCode::kOk;
  std::int32_t provider_error = 0;         // the provider's number where error is set (EFA: device status or >= 4096)
  std::optional<std::uint32_t> immediate;  // kReceive and kRemoteWrite
  std::uint64_t length_bytes = 0;          // received or written by the peer (where the backend tells); else 0

  bool ok() const { return error == ErrorCode::kOk; }
};
static_assert(std::is_trivially_destructible_v<Completion>);

}  // namespace fabric

#endif  // FABRIC_OPERATION_H_
