// A captured run, as far as a replay needs it: for each machine its objects, its operations, and
// the order of its program's steps.
//
//   trace files ──ReadCapture──► Capture ──Join──► each peer's endpoint, each key's region
//                                   │
//                                   └──► Replay: the same on simulated NICs

#ifndef DRYDOCK_SIM_CAPTURE_CAPTURE_H_
#define DRYDOCK_SIM_CAPTURE_CAPTURE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "drydock/coro/time.h"
#include "drydock/fabric/address.h"
#include "drydock/fabric/endpoint.h"
#include "drydock/fabric/error.h"
#include "drydock/fabric/memory.h"
#include "drydock/fabric/operation.h"

namespace drydock::sim::capture {

// Index in a list of this machine; kNowhere: it is in none.
using Index = std::size_t;
inline constexpr Index kNowhere = SIZE_MAX;

// Something in another machine's lists, found by Join.
struct Elsewhere {
  Index node = kNowhere;
  Index index = kNowhere;

  bool found() const { return node != kNowhere; }
};

struct Region {
  std::uint64_t id = 0;
  Index nic = 0;
  std::uint64_t length = 0;
  std::uint64_t memory = 0;       // where the program had it
  fabric::RemoteBuffer remote{};  // how peers named byte 0
  fabric::Access access = fabric::Access::kAll;
  coro::Duration opened{};
  bool began_zero = false;           // all of its bytes were
  std::optional<std::string> began;  // what its bytes were
  std::string digest;                // of its bytes when it was closed; empty: not known
};

struct Endpoint {
  std::uint64_t id = 0;
  Index nic = 0;
  fabric::Address address;
  Index send_queue = 0;
  Index receive_queue = 0;
  Index vector = 0;
  coro::Duration opened{};
};

struct Queue {
  std::uint64_t id = 0;
  Index nic = 0;
};

struct Vector {
  std::uint64_t id = 0;
  Index nic = 0;
};

struct PeerEntry {
  std::uint64_t id = 0;
  Index vector = 0;
  std::uint64_t number = 0;  // its number in posts
  fabric::Address address;
  Elsewhere endpoint;  // by Join; not found: in none of the traces
};

// Bytes of a request. A region of kNowhere: memory that was not registered.
struct Segment {
  Index region = kNowhere;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

constexpr bool IsReceive(fabric::OperationKind kind) {
  return kind == fabric::OperationKind::kReceive || kind == fabric::OperationKind::kTaggedReceive;
}
constexpr bool IsMessage(fabric::OperationKind kind) {
  return kind == fabric::OperationKind::kSend || kind == fabric::OperationKind::kTaggedSend;
}
constexpr bool IsTagged(fabric::OperationKind kind) {
  return kind == fabric::OperationKind::kTaggedSend ||
         kind == fabric::OperationKind::kTaggedReceive;
}

struct Operation {
  std::uint64_t number = 0;  // on its machine
  fabric::OperationKind kind = fabric::OperationKind::kSend;
  Index endpoint = 0;
  Index peer = kNowhere;  // kNowhere: a receive, or a peer that was in no address vector
  std::vector<Segment> segments;
  fabric::RemoteBuffer remote{};  // as it was posted
  Elsewhere target;               // the region of `remote`, by Join
  std::uint64_t tag = 0;          // of tagged messages
  std::uint64_t ignore = 0;
  std::optional<std::uint32_t> immediate;
  bool signalled = true;
  bool inject = false;
  std::optional<std::string> data;  // that it carried; of a read: that it got
  std::uint64_t bytes = 0;          // of all segments
  coro::Duration posted{};
  std::optional<fabric::ErrorCode> status;  // absent: no completion of it was read
  bool sends() const { return !IsReceive(kind); }
  // A pattern stands for its bytes, which the capture does not hold.
  bool filled() const {
    return sends() && kind != fabric::OperationKind::kRead && !data.has_value() && bytes > 0;
  }
};

// A completion as the program read it.
struct Seen {
  Index queue = 0;
  Index operation = kNowhere;  // kNowhere: a peer's immediate, or an error without a context
  fabric::ErrorCode status = fabric::ErrorCode::kOk;
};

enum class StepKind : std::uint8_t {
  kOpenRegion,
  kCloseRegion,
  kOpenEndpoint,
  kCloseEndpoint,
  kInsertPeer,
  kRemovePeer,
  kPost,
  kRead,  // of a completion
};

// A step of the program. `index`: of the region, endpoint, peer, operation or Seen.
struct Step {
  coro::Duration time{};  // since the capture began
  StepKind kind = StepKind::kPost;
  Index index = 0;
};

// One machine, as one process saw it.
struct Node {
  std::size_t file = 0;   // index among the traces
  std::uint64_t pid = 0;  // its number there
  std::string name;
  std::vector<std::string> nics;
  std::vector<Region> regions;
  std::vector<Queue> queues;
  std::vector<Vector> vectors;
  std::vector<Endpoint> endpoints;
  std::vector<PeerEntry> peers;
  std::vector<Operation> operations;
  std::vector<Seen> seen;
  std::vector<Step> steps;  // in the program's order
};

struct Capture {
  std::vector<std::string> backends;  // of each file
  std::vector<Node> nodes;
  // Parts of the traces that cannot be replayed: how many of which. In the order of the names.
  std::vector<std::pair<std::string, std::uint64_t>> left_out;
};

}  // namespace drydock::sim::capture

#endif  // DRYDOCK_SIM_CAPTURE_CAPTURE_H_
