// What every rank of a parallel program sends, receives and computes, and what waits for what:
// GOAL, the Group Operation Assembly Language of LogGOPSim and ATLAHS, as a value.
//
//   rank 0                     rank 1
//     send ──── message ────►    recv
//                                  │ requires
//                                  ▼
//     recv ◄─── message ─────    send
//
// Operations of a rank that do not wait for each other may run at the same time. A send and a
// receive belong together by source and tag, as messages of MPI do.

#ifndef DRYDOCK_APPS_GOAL_SCHEDULE_H_
#define DRYDOCK_APPS_GOAL_SCHEDULE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace drydock::apps::goal {

enum class Kind : std::uint8_t { kCalc, kSend, kReceive };

// Of a receive: a message from any rank, of any tag.
inline constexpr std::uint32_t kAnySource = UINT32_MAX;
inline constexpr std::uint32_t kAnyTag = UINT32_MAX;

struct Op {
  std::uint64_t amount = 0;  // bytes; of a calc: nanoseconds
  std::uint32_t peer = 0;    // the receiving rank; of a receive: the sending one
  std::uint32_t tag = 0;
  Kind kind = Kind::kCalc;
  std::uint8_t cpu = 0;  // does one thing after the other
  std::uint8_t nic = 0;  // of the rank, by which it sends

  friend bool operator==(const Op&, const Op&) = default;
};

// Index in Schedule::ops.
using OpIndex = std::uint32_t;

// That one operation waits for another one: for its end, or for its beginning only.
struct Edge {
  OpIndex after = 0;    // the one that waits
  bool begins = false;  // `irequires`

  friend bool operator==(const Edge&, const Edge&) = default;
};

// More than fit into memory: 134 million, of 40 bytes each.
inline constexpr std::size_t kMostOps = std::size_t{1} << 27;
inline constexpr std::uint32_t kMostRanks = 65536;

// A value; made by a ScheduleBuilder. Threads: may be read by many.
class Schedule {
 public:
  std::uint32_t ranks() const { return static_cast<std::uint32_t>(spans_.size()); }
  std::span<const Op> ops() const { return ops_; }
  // Its operations: [first, second). REQUIRES, here and below: there is such a rank, operation.
  std::pair<OpIndex, OpIndex> OpsOf(std::uint32_t rank) const { return spans_[rank]; }
  std::uint32_t RankOf(OpIndex op) const;
  // The operations that wait for it.
  std::span<const Edge> Followers(OpIndex op) const {
    return std::span(edges_).subspan(edge_begin_[op], edge_begin_[op + 1] - edge_begin_[op]);
  }
  // How many of each rank there are: one more than the highest number that an operation names.
  std::uint32_t nics() const { return nics_; }
  std::uint32_t cpus() const { return cpus_; }
  // That is sent.
  std::uint64_t longest_message() const { return longest_; }

  // The same operations of the same ranks in the same order, and the same waits.
  friend bool operator==(const Schedule& a, const Schedule& b);

 private:
  friend class ScheduleBuilder;

  std::vector<std::pair<OpIndex, OpIndex>> spans_;        // by rank
  std::vector<std::pair<OpIndex, std::uint32_t>> ranks_;  // where a rank begins, ascending
  std::vector<Op> ops_;
  std::vector<std::uint32_t> edge_begin_ = {0};  // of each operation's edges; and the end
  std::vector<Edge> edges_;
  std::uint32_t nics_ = 1;
  std::uint32_t cpus_ = 1;
  std::uint64_t longest_ = 0;
};

// Makes a schedule, one rank after the other, in any order. Not thread-safe.
class ScheduleBuilder {
 public:
  explicit ScheduleBuilder(std::uint32_t ranks) { schedule_.spans_.resize(ranks); }

  std::uint32_t ranks() const { return schedule_.ranks(); }
  std::size_t size() const { return schedule_.ops_.size(); }
  // REQUIRES: the rank was not begun before, and no other is open.
  void BeginRank(std::uint32_t rank);
  // Of the open rank. Returns its number. REQUIRES: size() < kMostOps.
  OpIndex Add(const Op& op);
  // `op` waits for `other`. REQUIRES: both are of the open rank.
  void Require(OpIndex op, OpIndex other, bool begins = false) {
    waits_.push_back({other, {op, begins}});
  }
  // Absent: all is well. Otherwise an operation that waits for itself, by way of others.
  std::optional<OpIndex> EndRank();

  // REQUIRES: no rank is open.
  Schedule Build() && { return std::move(schedule_); }

 private:
  std::optional<OpIndex> FindCycle() const;

  Schedule schedule_;
  std::uint32_t open_ = 0;
  std::vector<std::pair<OpIndex, Edge>> waits_;  // of the open rank: what is waited for, what waits
};

}  // namespace drydock::apps::goal

#endif  // DRYDOCK_APPS_GOAL_SCHEDULE_H_
