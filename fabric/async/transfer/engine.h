// Writes to many peers by many NICs.
//
//   CO_ASSIGN_OR_RETURN(const std::uint32_t peer, co_await engine.Connect(their_descriptor));
//   ASSIGN_OR_RETURN(const RemoteRef target, engine.Import(peer, their_memory));
//   ...
//   // the receiver, before it asks:
//   ASSIGN_OR_RETURN(auto arrived, engine.Expect(/*transfer=*/7, /*pages=*/1024));
//   // the sender:
//   CO_RETURN_IF_ERROR(co_await engine.WritePages(memory, target, shape, {.transfer = 7}));
//   // the receiver:
//   const bool all = co_await arrived->Reached(deadline);
//
// Every page is a write with an immediate that names its transfer and its number in it. The
// receiver counts distinct pages over all of its NICs: so pages may go any way, in any order, and
// again.
//
//   submit ──► transfers ── chunks ──► Balance: which NIC ──► Rail: window, bursts ──► endpoint
//                  ▲                                            │
//                  └── pages that failed, by another way ◄──────┤ reports
//   Expectation ◄── distinct pages ◄────────────────────────────┘ arrivals
//
// A NIC that fails, or leaves an operation without completion, is taken out; its unfinished pages
// go by others. A call returns OK when every page has been completed by the peer's NIC, and with an
// error only when none of its pages is under way any more, unless its deadline came first.

#ifndef DRYDOCK_FABRIC_ASYNC_TRANSFER_ENGINE_H_
#define DRYDOCK_FABRIC_ASYNC_TRANSFER_ENGINE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/now_task.h"
#include "drydock/coro/selector.h"
#include "drydock/coro/task.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/async/transfer/arrivals.h"
#include "drydock/fabric/async/transfer/balance.h"
#include "drydock/fabric/async/transfer/chunk_dispatcher.h"
#include "drydock/fabric/async/transfer/descriptor.h"
#include "drydock/fabric/async/transfer/memory.h"
#include "drydock/fabric/async/transfer/peer_introductions.h"
#include "drydock/fabric/async/transfer/policy.h"
#include "drydock/fabric/async/transfer/rail.h"
#include "drydock/fabric/async/transfer/transfer_request.h"
#include "drydock/fabric/async/transfer/transfer_table.h"
#include "drydock/fabric/domain.h"
#include "drydock/fabric/memory.h"

namespace drydock::fabric::async::transfer {

class BarrierGroup;
class RailThreads;

struct EngineOptions {
  Policy policy = Policy::kRoundRobin;
  RailOptions nic;  // of each NIC: window, burst, time-out
  // NICs (by their places in Open's list), nearest first, for Policy::kNearFirst: as gpu/topology
  // orders them. Those left out come last.
  std::vector<std::uint32_t> near_first;
  std::uint32_t attempts = 4;  // of one page, before its transfer fails
  // NIC i writes to the peer's NIC i only: where the others are not on its network.
  bool same_nic_only = false;
  // The NICs' threads, not started yet; null: everything is on the engine's loop. Outlives the
  // engine, and is stopped before it dies.
  RailThreads* threads = nullptr;
  // Where several engines share the threads: how many NICs all of them have, and the number of this
  // engine's first one among those; its others follow. 0 NICs: the threads are this engine's alone.
  std::size_t first_shared_nic = 0;
  std::size_t shared_nics = 0;
};

// The counts of one NIC, and its state.
struct NicStats {
  std::string name;
  bool alive = true;
  std::uint64_t bytes = 0;            // that arrived at peers, or are under way
  std::uint64_t bytes_under_way = 0;  // or wait for their turn
  double bytes_per_ns = 0;            // as measured while it was busy; 0: not yet
  std::uint64_t arrived_pages = 0;    // announcements of peers
  std::uint64_t posted_pages = 0;
  std::uint64_t doorbells = 0;
  std::uint64_t refused_posts = 0;  // kAgain
};

// Ownership: owns its NICs' endpoints, keeps the memory of what is under way. Dies after every
// coroutine that uses it, and before its loop and the domains. Threads: the loop's; with
// RailThreads each NIC is on one of theirs, and only rings are shared.
class Engine final : private coro::Selector {
 public:
  // One endpoint on each domain. kInvalidArgument: no NIC, more than kMostNics, options out of
  // range; errors of the backend.
  static absl::StatusOr<std::unique_ptr<Engine>> Open(coro::EventLoop& loop,
                                                      std::span<Domain* const> nics,
                                                      const EngineOptions& options = {});
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine() override;

  // The descriptor that peers connect to.
  PeerDescriptor descriptor() const;
  // Registers with every NIC. `keep` keeps the bytes; null: they stay as long as there is a
  // reference to the memory. Errors: those of Domain::RegisterMemory.
  absl::StatusOr<MemoryRef> Register(const MemoryRequest& request,
                                     std::shared_ptr<void> keep = nullptr);
  // The same with fresh zero bytes. kResourceExhausted: there is not so much memory.
  absl::StatusOr<MemoryRef> Allocate(std::size_t length_bytes, Access access = Access::kAll);

  // Makes the peer known to every NIC: from then on it may write here, and be written to. Returns
  // its number. A NIC that cannot reach some of the peer's is used for the others; an error means
  // that no NIC reaches any. kInvalidArgument: a descriptor without NICs.
  coro::Task<absl::StatusOr<std::uint32_t>> Connect(PeerDescriptor peer);
  // kInvalidArgument: no such peer, or another number of NICs than it has.
  absl::StatusOr<RemoteRef> Import(std::uint32_t peer, MemoryDescriptor descriptor) const;

  // Each returns when all of its pages have been completed. kInvalidArgument, before anything is
  // written: numbers out of range, or a page outside of its memory. kDeadlineExceeded: pages that
  // are under way are left behind, and their memory stays as long as they need it. Others: the
  // error of a page's last attempt; kUnavailable: no NIC is left that has a way to the peer. The
  // spans have to stay only until the call has begun. A call that is cancelled is left behind, too.
  coro::Task<absl::Status> Write(MemoryRef source, RemoteRef target, WriteShape shape,
                                 TransferOptions options);
  coro::Task<absl::Status> WritePages(MemoryRef source, RemoteRef target, PagesShape shape,
                                      TransferOptions options);
  coro::Task<absl::Status> Scatter(MemoryRef source, std::span<const ScatterWrite> writes,
                                   TransferOptions options);
  // barrier_group.h
  coro::Task<absl::Status> Barrier(BarrierGroup& group, coro::Time deadline = coro::kNever);

  // From now on counts the pages of this transfer, 0 to pages - 1. kInvalidArgument: out of range;
  // kAlreadyExists: it is expected.
  absl::StatusOr<std::unique_ptr<Expectation>> Expect(std::uint32_t transfer, std::uint32_t pages);
  ArrivalTable& arrivals() { return arrivals_; }

  std::size_t nic_count() const { return rails_.size(); }
  NicStats nic_stats(std::size_t nic) const;
  // Bytes that we have written to this NIC of the peer, or are writing.
  std::uint64_t BytesTo(std::uint32_t peer, std::size_t remote_nic) const {
    return balance_.remote_share(peer, remote_nic).total();
  }
  // Pages that failed and went, or are to go, another way.
  std::uint64_t reissued_pages() const { return dispatcher_.reissued_pages(); }
  const ArrivalCounters& arrival_counters() const { return arrivals_.counters(); }

 private:
  Engine(coro::EventLoop& loop, std::span<Domain* const> nics, const EngineOptions& options,
         std::vector<std::unique_ptr<Rail>> rails);

  // --- coro::Selector ---
  std::size_t Poll(std::size_t budget) override;

  std::size_t TakeArrivals(std::size_t nic);
  std::size_t TakeReports(std::size_t nic);
  // A transfer from `source`, whose plan has no pages yet.
  Transfer& NewTransfer(MemoryRef source, const TransferOptions& options);
  // Submits it, and waits until it is finished or the deadline comes.
  coro::NowTask<absl::Status> Run(Transfer& transfer, coro::Time deadline);

  coro::EventLoop& loop_;
  const EngineOptions options_;
  const std::vector<Domain*> domains_;
  std::vector<std::unique_ptr<Rail>> rails_;  // the destructor ends them before all that follows
  Balance balance_;
  PeerIntroductions introductions_;
  TransferTable transfers_;
  ChunkDispatcher dispatcher_;
  ArrivalTable arrivals_;
  std::vector<std::uint64_t> arrived_;  // by NIC
  bool dirty_ = false;                  // there may be something to hand out
};

}  // namespace drydock::fabric::async::transfer

#endif  // DRYDOCK_FABRIC_ASYNC_TRANSFER_ENGINE_H_
