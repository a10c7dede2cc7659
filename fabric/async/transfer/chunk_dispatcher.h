// Cuts transfers into chunks and gives them to NICs; pages that fail go to other NICs.
//
//   queue of transfers ── next pages ──► Balance: which NIC ── chunk ──► Rail
//     ▲                                                                   │ reports
//     └── a page that has attempts left ◄── PageFailed, ChunkEnded ◄──────┘

#ifndef DRYDOCK_FABRIC_ASYNC_TRANSFER_CHUNK_DISPATCHER_H_
#define DRYDOCK_FABRIC_ASYNC_TRANSFER_CHUNK_DISPATCHER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "drydock/coro/clock.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/async/transfer/balance.h"
#include "drydock/fabric/async/transfer/chunk_table.h"
#include "drydock/fabric/async/transfer/messages.h"
#include "drydock/fabric/async/transfer/plan.h"
#include "drydock/fabric/async/transfer/rail.h"
#include "drydock/fabric/async/transfer/transfer_table.h"

namespace drydock::fabric::async::transfer {

// Owns the records of the chunks that NICs have. NICs, balance, transfers and clock belong to
// others, and outlive its last call. Allocates nothing for a page, unless it fails. Not
// thread-safe.
class ChunkDispatcher {
 public:
  // `balance` has the same NICs. `attempts`: of one page, before its transfer fails.
  ChunkDispatcher(std::span<const std::unique_ptr<Rail>> rails, Balance& balance,
                  TransferTable& transfers, coro::Clock& clock, std::uint32_t attempts);
  ChunkDispatcher(const ChunkDispatcher&) = delete;
  ChunkDispatcher& operator=(const ChunkDispatcher&) = delete;

  // A turn of the loop begins. The clock is read once in it, when its time is needed first.
  void BeginTurn() { now_is_read_ = false; }
  // Gives out chunks until no NIC takes another one of any transfer; returns how many it gave. A
  // transfer fails with kUnavailable when no NIC is left that has a way to its peer.
  std::size_t Dispatch();

  // The reports kPageFailed and kEnded of this NIC. A transfer fails with the error of a page that
  // no NIC could send, or that has had its attempts; other pages are handed out again.
  void PageFailed(std::size_t nic, const Report& report);
  void ChunkEnded(std::size_t nic, std::uint32_t id);

  // Pages that failed and went, or are to go, another way.
  std::uint64_t reissued_pages() const { return reissued_; }

 private:
  // Gives a chunk of it to a NIC, if there is one that takes it.
  Balance::Answer HandOut(Transfer& transfer);
  // How many pages its next chunk has at the most.
  std::uint32_t ChunkOf(const Transfer& transfer) const;
  // Of a scatter: chooses the peers' NICs, and returns how many of the pages can go by this NIC.
  std::uint32_t RouteScatter(Plan& plan, const GivenChunk& chunk);
  void Give(GivenChunk& chunk);
  coro::Time Now();

  const std::span<const std::unique_ptr<Rail>> rails_;
  Balance& balance_;
  TransferTable& transfers_;
  coro::Clock& clock_;
  const std::uint32_t attempts_;
  ChunkTable chunks_;
  std::uint64_t reissued_ = 0;
  bool now_is_read_ = false;
  coro::Time now_{};
};

}  // namespace drydock::fabric::async::transfer

#endif  // DRYDOCK_FABRIC_ASYNC_TRANSFER_CHUNK_DISPATCHER_H_
