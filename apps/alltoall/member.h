// One rank of an all-to-all: a machine that dispatches its tokens to experts of all ranks, answers
// for its own experts, and combines what comes back, by all of its NICs.
//
//   exchange   every rank puts its table of choices and weights to all        put with signal
//   barrier    every rank knows how many rows come, and counts them from now on
//   dispatch   a token goes once to each rank that has one of its experts      rows by all NICs
//   quiet      all rows are at their targets; in place: a barrier, too
//   combine    a rank answers each row with the weighted sum of its experts    rows back
//
// Nothing here needs an order that EFA does not promise: how many rows come is said by tables,
// which their own signals vouch for, and each row counts itself. Counting has begun, at every rank,
// before the first row leaves: that is what the barrier is for.
//
// In place, a rank writes its answers over the rows that came. A row may be written again, with the
// same bytes, until its sender's call has returned (fabric/async/transfer/engine.h); so no rank
// computes before all senders have passed a second barrier.

#ifndef DRYDOCK_APPS_ALLTOALL_MEMBER_H_
#define DRYDOCK_APPS_ALLTOALL_MEMBER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drydock/apps/alltoall/workload.h"
#include "drydock/apps/common/ranks/ranks.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/task.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/async/transfer/barrier_group.h"
#include "drydock/fabric/async/transfer/engine.h"
#include "drydock/fabric/fabric.h"

namespace drydock::apps::alltoall {

struct MemberOptions {
  std::size_t nics = 2;
  // Index in the fabric; the others follow, or share it where NICs are software.
  std::size_t first_nic = 0;
  bool rail_aligned = true;  // NIC i writes to NIC i of its peers only
  bool in_place = false;
  std::size_t window = 128;  // rows of a NIC under way; less where queues of peers are short
  coro::Duration timeout = std::chrono::seconds(100);  // of each phase of a round
  coro::Duration late{};                               // comes so much later to each round
  bool all_here = false;                               // all ranks are in this process
};

// What a rank has done and found, in all rounds.
struct RankResult {
  std::uint64_t tokens = 0;
  std::uint64_t sent = 0;      // rows to other ranks, each of which comes back as an answer
  std::uint64_t received = 0;  // rows of others, each of which it answers
  std::uint64_t bytes = 0;     // of all rows and answers that it sent
  std::uint64_t wrong = 0;     // words of its results that are not the reference's
  std::uint64_t reissued = 0;  // rows that went again, by another NIC
  std::uint64_t dead_nics = 0;
  // Sums over the rounds.
  std::uint64_t exchange_ns = 0;
  std::uint64_t barrier_ns = 0;
  std::uint64_t dispatch_ns = 0;
  std::uint64_t combine_ns = 0;

  std::vector<std::byte> Serialize() const;
  // kInvalidArgument: it is something else.
  static absl::StatusOr<RankResult> Parse(const std::vector<std::byte>& bytes);
};

// Where everything is in the memory that a rank's peers write to: offsets in bytes.
class Layout {
 public:
  Layout(const MoeShape& shape, bool in_place) : shape_(shape), in_place_(in_place) {}

  std::uint64_t row() const { return std::uint64_t{shape_.words} * 4; }
  // A rank's choices, then their weights.
  std::uint64_t table_bytes() const { return std::uint64_t{shape_.choices()} * 8; }
  std::uint64_t Table(std::size_t rank) const { return rank * table_bytes(); }
  std::uint64_t Tokens() const { return Table(shape_.ranks); }
  // A row for each token of `source`.
  std::uint64_t Received(std::size_t source) const {
    return Tokens() + (1 + source) * shape_.tokens * row();
  }
  // A row for each answer to each token.
  std::uint64_t Answers() const { return Received(shape_.ranks); }
  // What this rank answers `source`, a row for each of its tokens.
  std::uint64_t Computed(std::size_t source) const {
    if (in_place_) return Received(source);
    return Answers() + answer_bytes() + source * shape_.tokens * row();
  }
  std::uint64_t answer_bytes() const {
    return std::uint64_t{shape_.tokens} * Routes::Slots(shape_) * row();
  }
  std::uint64_t bytes() const {
    return in_place_ ? Answers() + answer_bytes() : Computed(shape_.ranks);
  }

 private:
  MoeShape shape_;
  bool in_place_;
};

// Ownership: owns its machine's fabric and engine. Dies after every coroutine that uses it, and
// before its loop. Threads: the loop's.
class Member {
 public:
  static constexpr std::size_t kMostRanks = fabric::async::transfer::BarrierGroup::kMostMembers;

  // Of the memory of this process that peers write to.
  static constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 30;

  // Errors: kInvalidArgument: more rows or members than can be numbered, or over kMostBytes; those
  // of fabric::Fabric::OpenDomain, of Engine::Open and of registering memory.
  static absl::StatusOr<std::unique_ptr<Member>> Open(coro::EventLoop& loop,
                                                      std::unique_ptr<fabric::Fabric> fabric,
                                                      const Workload& workload, std::size_t rank,
                                                      const MemberOptions& options);

  // Tells the others where this rank is, and is told of them. kFailedPrecondition: a rank was
  // started with other flags.
  coro::Task<absl::Status> Meet(Ranks& ranks);

  // Both ways once; counts what is wrong in the result. Errors say in which phase:
  // kDeadlineExceeded, those of the engine, kDataLoss for a table that cannot be. REQUIRES: Meet
  // has succeeded; the same round at the same time on all ranks.
  coro::Task<absl::Status> Round(std::uint32_t round);

  const Workload& workload() const { return workload_; }
  RankResult result() const;

 private:
  using Engine = fabric::async::transfer::Engine;
  using Expectation = fabric::async::transfer::Expectation;
  using MemoryRef = fabric::async::transfer::MemoryRef;
  using RemoteRef = fabric::async::transfer::RemoteRef;
  class Phase;

  // Rows to one peer: those of `from`, counted from an offset, go to those of `to`.
  struct Rows {
    const std::vector<std::uint32_t>* from = nullptr;
    const std::vector<std::uint32_t>* to = nullptr;
    std::uint64_t from_offset = 0;
    std::uint64_t to_offset = 0;
    std::uint32_t first = 0;  // its number among all that the peer gets
  };

  Member(const Workload& workload, std::size_t rank, const MemberOptions& options)
      : workload_(workload),
        rank_(rank),
        options_(options),
        layout_(workload.shape, options.in_place) {}

  absl::Status OpenEngine(coro::EventLoop& loop);
  std::vector<std::byte> Introduction() const;
  // `mine`: this rank's own.
  coro::Task<absl::Status> AddPeer(std::size_t rank, const std::vector<std::byte>& introduction,
                                   const std::vector<std::byte>& mine);

  // The number of one of a round's transfers.
  static std::uint32_t TransferOf(std::uint32_t round, std::uint32_t which);
  coro::Task<absl::Status> Barrier();
  coro::Task<absl::StatusOr<Routes>> Exchange(std::uint32_t round);
  coro::Task<absl::Status> SendTables(std::uint32_t transfer, coro::Time deadline);
  coro::Task<absl::Status> Dispatch(std::uint32_t transfer, const Routes& routes,
                                    Expectation* expected);
  coro::Task<absl::Status> Combine(std::uint32_t transfer, const Routes& routes,
                                   Expectation* expected);
  // Writes the rows to all peers, copies this rank's own, and waits for what is expected of others
  // (null: nothing) and for the end of all writes.
  coro::Task<absl::Status> Move(std::uint32_t transfer, const std::vector<Rows>& rows,
                                Expectation* expected, coro::Time deadline);
  coro::Task<absl::Status> WriteRows(std::size_t peer, Rows rows, std::uint32_t transfer,
                                     coro::Time deadline);
  static coro::Task<absl::Status> AwaitRows(Expectation& expected, coro::Time deadline);
  void Fill(const MoeInput& input);
  // Clears the answers, so that a stale one cannot pass for a right one.
  void ForgetAnswers();
  void Answer(const Routes& routes);
  void CountWrong(const MoeInput& input, const Routes& routes);

  std::uint32_t WordAt(std::uint64_t offset) const;
  void SetWord(std::uint64_t offset, std::uint32_t value);
  std::vector<std::uint32_t> WordsAt(std::uint64_t offset, std::size_t count) const;
  void SetWords(std::uint64_t offset, const std::vector<std::uint32_t>& words);

  const Workload workload_;
  const std::size_t rank_;
  const MemberOptions options_;
  const Layout layout_;
  RankResult result_;
  std::unique_ptr<fabric::Fabric> fabric_;
  std::vector<std::unique_ptr<fabric::Domain>> domains_;
  std::unique_ptr<Engine> engine_;  // members die in reverse order
  MemoryRef memory_;
  MemoryRef flag_;
  std::unique_ptr<fabric::async::transfer::BarrierGroup> group_;
  std::vector<RemoteRef> windows_;  // of the others, by rank
  std::vector<RemoteRef> flags_;
};

}  // namespace drydock::apps::alltoall

#endif  // DRYDOCK_APPS_ALLTOALL_MEMBER_H_
