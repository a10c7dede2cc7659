// The plan of one transfer: where each of its pages comes from and goes to.
//
// A plan is written once, when the transfer is submitted, and then only read, by the threads of all
// NICs at once. Pages are computed where they are posted: a submission costs no time per page.

#ifndef DRYDOCK_FABRIC_ASYNC_TRANSFER_PLAN_H_
#define DRYDOCK_FABRIC_ASYNC_TRANSFER_PLAN_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "drydock/fabric/async/transfer/memory.h"

namespace drydock::fabric::async::transfer {

// Offsets of the pages of one end.
struct PageOffsets {
  std::vector<std::uint32_t> indices;  // page i is at indices[i]; empty: at i
  std::uint64_t offset_bytes = 0;      // where index 0 is
  std::uint64_t stride_bytes = 0;      // from one index to the next

  std::uint64_t Of(std::uint32_t page) const {
    return offset_bytes + (indices.empty() ? page : indices[page]) * stride_bytes;
  }
};

// One write of a scatter.
struct ScatterPage {
  std::uint64_t source_offset = 0;
  std::uint64_t target_offset = 0;
  std::uint32_t bytes = 0;
  std::uint32_t sequence = 0;     // its page number at its peer
  std::uint16_t destination = 0;  // in Plan::targets
  std::uint16_t remote = 0;       // the peer's NIC: chosen when its chunk is handed out
};

// Where a page is, at both ends.
struct PagePlace {
  std::uint64_t source_offset;
  std::uint64_t target_offset;
  std::uint64_t bytes;
  std::uint32_t sequence;
  std::uint16_t destination;
  std::uint16_t remote;
};

struct Plan {
  MemoryRef source;
  std::vector<RemoteRef> targets;  // one, or those of a scatter
  std::uint32_t transfer = 0;
  std::uint32_t first_sequence = 0;  // of page 0; each page has the next
  std::uint32_t pages = 0;
  std::uint64_t page_bytes = 0;
  std::uint64_t total_bytes = 0;  // of all pages; the last one of a write may be shorter
  PageOffsets from;
  PageOffsets to;
  std::vector<ScatterPage> scatter;  // of a scatter, instead of the offsets

  // `remote`: the peer's NIC, of all but a scatter's pages.
  PagePlace PlaceOf(std::uint32_t page, std::uint16_t remote) const {
    if (!scatter.empty()) {
      const ScatterPage& one = scatter[page];
      return {one.source_offset, one.target_offset, one.bytes,
              one.sequence,      one.destination,   one.remote};
    }
    return {from.Of(page), to.Of(page), BytesOf(page), first_sequence + page, 0, remote};
  }
  std::uint64_t BytesOf(std::uint32_t page) const {
    if (!scatter.empty()) return scatter[page].bytes;
    return std::min(page_bytes, total_bytes - page * page_bytes);
  }
  const RemoteMemory& TargetOf(std::uint32_t page) const {
    return *targets[scatter.empty() ? 0 : scatter[page].destination];
  }

  // Empty, with the room that it has: for the next transfer.
  void Clear() {
    source.reset();
    total_bytes = 0;
    targets.clear();
    from.indices.clear();
    to.indices.clear();
    scatter.clear();
  }
};

}  // namespace drydock::fabric::async::transfer

#endif  // DRYDOCK_FABRIC_ASYNC_TRANSFER_PLAN_H_
