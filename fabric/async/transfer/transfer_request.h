// What a program asks an engine to write, and the plan that comes of it.

#ifndef DRYDOCK_FABRIC_ASYNC_TRANSFER_TRANSFER_REQUEST_H_
#define DRYDOCK_FABRIC_ASYNC_TRANSFER_TRANSFER_REQUEST_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/async/transfer/memory.h"
#include "drydock/fabric/async/transfer/plan.h"
#include "drydock/fabric/async/transfer/policy.h"

namespace drydock::fabric::async::transfer {

// Of one call. Trivially destructible, as everything that is written inside a co_await expression.
struct TransferOptions {
  // The transfer's number, which the receiver expects: below kMostTransfers. Reuse a number as late
  // as possible: until then, late announcements are told apart.
  std::uint32_t transfer = 0;
  // Number of the first page, of a scatter at each peer: several calls may make up one transfer.
  std::uint32_t first_page = 0;
  const Policy* policy = nullptr;  // instead of the engine's
  std::size_t nic = 0;             // of Policy::kPinned
  coro::Time deadline = coro::kNever;
};

// One range. It is cut into pieces, which are the transfer's pages; see PiecesOf.
struct WriteShape {
  std::uint64_t source_offset = 0;
  std::uint64_t target_offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t piece_bytes = 0;  // 0: one piece, or with Policy::kSplit one for each NIC
};
// How many pages an Engine with so many NICs makes of it: its receiver expects so many.
std::uint32_t PiecesOf(const WriteShape& shape, Policy policy, std::size_t nics);

// Where the pages are at one end.
struct PageList {
  std::span<const std::uint32_t> indices;  // page i is at indices[i]; empty: at i
  std::uint64_t offset_bytes = 0;          // where index 0 is
  std::uint64_t stride_bytes = 0;          // from one index to the next; 0: as long as a page
};
struct PagesShape {
  std::uint32_t pages = 0;
  std::uint64_t page_bytes = 0;
  PageList from;
  PageList to;
};

// One write of a scatter. The writes to one peer are numbered in their order. They may come in any
// order of peers and memories, and go to 65,535 memories at the most.
struct ScatterWrite {
  RemoteRef target;
  std::uint64_t source_offset = 0;
  std::uint64_t target_offset = 0;
  std::uint32_t bytes = 0;
};

// These check a request and make a plan of it. `plan` has its source and, but for a scatter's, its
// one target. kInvalidArgument: numbers out of range, or a page outside of its memory; the plan is
// half made then. Nothing refers to the spans afterwards.
//
// `pieces`: what PiecesOf says.
absl::Status PlanWrite(const WriteShape& shape, std::uint32_t pieces,
                       const TransferOptions& options, Plan& plan);
absl::Status PlanPages(const PagesShape& shape, const TransferOptions& options, Plan& plan);
// `peers`: how many the engine knows; the targets belong to them.
absl::Status PlanScatter(std::span<const ScatterWrite> writes, std::size_t peers,
                         const TransferOptions& options, Plan& plan);

}  // namespace drydock::fabric::async::transfer

#endif  // DRYDOCK_FABRIC_ASYNC_TRANSFER_TRANSFER_REQUEST_H_
