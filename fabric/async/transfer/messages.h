// The messages between the engine and its NICs, through rings (spsc_ring.h): plain values.

#ifndef DRYDOCK_FABRIC_ASYNC_TRANSFER_MESSAGES_H_
#define DRYDOCK_FABRIC_ASYNC_TRANSFER_MESSAGES_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "drydock/fabric/async/transfer/plan.h"
#include "drydock/fabric/error.h"
#include "drydock/fabric/operation.h"

namespace drydock::fabric::async::transfer {

// A new peer: the engine fills in the addresses, each NIC its own answer.
struct Introduction {
  std::uint32_t peer = 0;
  // By the peer's NIC; an empty one is not for this NIC to reach.
  std::vector<Address> addresses;
  // Of this NIC's insertions, the first failure.
  absl::Status status;
  // By the peer's NIC: whether it was inserted.
  std::vector<bool> inserted;
};

// Some pages in a row, of one plan.
struct Chunk {
  const Plan* plan = nullptr;  // stays until the chunk has ended
  std::uint32_t id = 0;        // below Rail::most_chunks(); free again when it has ended
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  std::uint16_t remote = 0;  // the peer's NIC; a scatter's pages have their own
  bool again = false;        // post them although the way to that NIC has failed before
};

// One page of a chunk.
struct ChunkPage {
  std::uint32_t chunk = 0;  // its id
  std::uint32_t page = 0;   // of its plan
};

// To a NIC.
struct Command {
  enum class Kind : std::uint8_t { kChunk, kIntroduce } kind = Kind::kChunk;
  Chunk chunk;
  Introduction* introduction = nullptr;  // stays until it was answered
};

// From a NIC. Of a chunk, each page that failed comes first, and then once that it has ended.
struct Report {
  enum class Kind : std::uint8_t {
    kPageFailed,  // `chunk`, `page` of the plan, `error`
    kEnded,       // `chunk`: none of its pages is under way any more
    kIntroduced,  // `introduction`
    kDied,        // `error`: this NIC posts no more
  } kind = Kind::kEnded;
  ErrorCode error = ErrorCode::kOk;
  bool tried = false;  // the page was posted; else it was only handed back
  std::int32_t provider_error = 0;
  std::uint32_t chunk = 0;
  std::uint32_t page = 0;
  Introduction* introduction = nullptr;
};

}  // namespace drydock::fabric::async::transfer

#endif  // DRYDOCK_FABRIC_ASYNC_TRANSFER_MESSAGES_H_
