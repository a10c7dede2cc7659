// The ranks of one job: the N processes of a program, which exchange addresses here before their
// NICs can reach each other.
//
//   CO_ASSIGN_OR_RETURN(const auto all, co_await ranks.AllGather(MyAddress(), deadline));
//   ... all[r] is what rank r gave, on every rank ...
//
// They use the launcher that started the processes, by PMIx (launched_ranks.h), or the simulator
// (local_ranks.h). Without either they meet at an address (tcp_ranks.h).

#ifndef DRYDOCK_APPS_COMMON_RANKS_RANKS_H_
#define DRYDOCK_APPS_COMMON_RANKS_RANKS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/coro/task.h"
#include "drydock/coro/time.h"

namespace drydock::apps {

// The data that each rank gave, by rank.
using Gathered = std::vector<std::vector<std::byte>>;

// One rank's end. Ownership: owns its way to the others. Dies after every AllGather, and before the
// loop that it runs on. Threads: the loop's. Blocking: other tasks of the loop go on, except for as
// long as a launcher's own daemon takes to answer.
class Ranks {
 public:
  // REQUIRES: rank < size.
  Ranks(std::size_t rank, std::size_t size) : rank_(rank), size_(size) {}
  virtual ~Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  std::size_t rank() const { return rank_; }
  std::size_t size() const { return size_; }
  // Whether AllGather was called.
  bool has_given() const { return has_given_; }

  // Gives `mine`, and returns when every rank has given: size() entries, which other processes
  // wrote and which have not been checked. All ranks call it equally often. kDeadlineExceeded: a
  // rank did not call in time; kUnavailable: one is gone; kInvalidArgument: one speaks another
  // protocol. After an error the ranks are apart, and every later call fails. REQUIRES: one call at
  // a time.
  coro::Task<absl::StatusOr<Gathered>> AllGather(std::vector<std::byte> mine, coro::Time deadline);
  // The same with text. A rank that cannot go on gives its error, so that no other waits for it: it
  // gets that error back, and the others get kUnavailable, "rank 2 cannot go on: ...".
  coro::Task<absl::StatusOr<std::vector<std::string>>> AllGatherText(
      absl::StatusOr<std::string> mine, coro::Time deadline);

 private:
  // As AllGather, of ranks that are together.
  virtual coro::Task<absl::StatusOr<Gathered>> Gather(std::vector<std::byte> mine,
                                                      coro::Time deadline) = 0;

  const std::size_t rank_;
  const std::size_t size_;
  bool has_given_ = false;
  absl::Status apart_;  // why, once they are
};

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_RANKS_RANKS_H_
