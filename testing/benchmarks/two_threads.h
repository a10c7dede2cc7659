// Two endpoints that write to one another, each driven by a thread: latency and rate as between two
// programs. In one thread (write_loop.h) one sees what both ends take of a processor, and
// neither of them: no end waits for the other there.

#ifndef DRYDOCK_TESTING_BENCHMARKS_TWO_THREADS_H_
#define DRYDOCK_TESTING_BENCHMARKS_TWO_THREADS_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "drydock/coro/time.h"
#include "drydock/testing/benchmarks/write_end.h"

namespace drydock::bench {

// Of a stream: the target acknowledges each 16 writes with one of its own. Twice as many are under
// way, so that some are posted while others are acknowledged.
inline constexpr std::size_t kStreamBurst = kMostInBurst;
inline constexpr std::size_t kStreamSlots = 2 * kStreamBurst;
inline constexpr std::size_t kAcknowledgementBytes = 8;

// What two ends of a stream or of a ping-pong need of their memory.
constexpr std::size_t BytesForTwoThreads(std::size_t bytes) {
  return kStreamSlots * bytes + kAcknowledgementBytes;
}

// How long a thread that finds nothing goes on: until the other one has failed, or for 20 seconds.
class Patience {
 public:
  // `over`: outlives it, and is shared by both threads.
  explicit Patience(const std::atomic<bool>& over) : over_(over) {}

  void FoundSomething() {
    in_vain_ = 0;
    give_up_ = coro::kNever;
  }
  // Nothing was there again.
  bool IsExhausted() { return ++in_vain_ % kPolls == 0 && LookUp(); }

 private:
  static constexpr std::uint64_t kPolls = 1u << 16;  // in vain, between two looks

  bool LookUp();

  const std::atomic<bool>& over_;
  std::uint64_t in_vain_ = 0;
  coro::Time give_up_ = coro::kNever;
};

// What an end should have seen when all is done.
struct Expected {
  std::uint64_t sent = 0;
  std::size_t sent_slots = 1;  // they went round in so many
  std::uint64_t arrived = 0;
  std::size_t arrived_slots = 1;
  std::size_t arrived_bytes = 0;  // each
};

// What one end has seen so far.
class Tally {
 public:
  // What `end.Poll` adds to it: false when it failed.
  template <typename End>
  bool Poll(End& end) {
    return end.Poll(sent_, arrived_);
  }
  std::uint64_t sent() const { return sent_.completions; }
  std::uint64_t arrived() const { return arrived_.completions; }

  // Whether they are the completions of just these writes.
  absl::Status Check(const Expected& expected) const;
  // What is said when patience ends.
  absl::Status Incomplete() const;

 private:
  Found sent_;
  Found arrived_;
};

// One poll, for all loops below. False: it is over, and `status` says why.
template <typename End>
[[gnu::always_inline]] inline bool PollOnce(End& end, Tally& tally, Patience& patience,
                                            absl::Status& status) {
  const std::uint64_t before = tally.sent() + tally.arrived();
  if (!tally.Poll(end)) [[unlikely]] {
    status = end.error();
    return false;
  }
  if (tally.sent() + tally.arrived() > before) {
    patience.FoundSomething();
    return true;
  }
  if (!patience.IsExhausted()) [[likely]]
    return true;
  status = tally.Incomplete();
  return false;
}

// One side of a ping-pong: `count` writes of its own, the next when that of its peer has arrived.
// The side that `begins` posts first. Always the same slot, as in libfabric's own tests.
template <typename End>
absl::Status Bounce(End& end, bool begins, std::size_t bytes, std::uint64_t count,
                    const std::atomic<bool>& over) {
  Patience patience(over);
  Tally tally;
  absl::Status status;
  const std::uint64_t ahead = begins ? 0 : 1;
  for (std::uint64_t posted = 0; tally.sent() < count || tally.arrived() < count;) {
    if (posted < count && posted == tally.sent() && posted + ahead <= tally.arrived()) {
      const BurstOutcome outcome = end.Post({.bytes = bytes});
      if (outcome.failed) [[unlikely]]
        return end.error();
      posted += outcome.posted;
    }
    if (!PollOnce(end, tally, patience, status)) [[unlikely]]
      return status;
  }
  return tally.Check({.sent = count, .arrived = count, .arrived_bytes = bytes});
}

// The side that writes: `count` writes, a multiple of kStreamBurst, `at_once` of them in a post, of
// which kStreamBurst is a multiple. A slot is written again when its write has completed and was
// acknowledged.
template <typename End>
absl::Status Stream(End& end, std::size_t bytes, std::size_t at_once, std::uint64_t count,
                    const std::atomic<bool>& over) {
  Patience patience(over);
  Tally tally;
  absl::Status status;
  std::uint64_t posted = 0;
  for (std::uint64_t done = 0; done < count;) {
    if (posted < count && posted < done + kStreamSlots) {
      const std::size_t rest = at_once - posted % at_once;
      const BurstOutcome outcome =
          end.Post({.bytes = bytes, .first = posted % kStreamSlots, .count = rest});
      if (outcome.failed) [[unlikely]]
        return end.error();
      posted += outcome.posted;
      if (outcome.posted == rest) continue;
    }
    if (!PollOnce(end, tally, patience, status)) [[unlikely]]
      return status;
    done = std::min(tally.sent() / kStreamBurst, tally.arrived()) * kStreamBurst;
  }
  return tally.Check({.sent = count,
                      .sent_slots = kStreamSlots,
                      .arrived = count / kStreamBurst,
                      .arrived_bytes = kAcknowledgementBytes});
}

// The side that is written to, and acknowledges each burst, behind all slots.
template <typename End>
absl::Status Acknowledge(End& end, std::size_t bytes, std::uint64_t count,
                         const std::atomic<bool>& over) {
  Patience patience(over);
  Tally tally;
  absl::Status status;
  const std::uint64_t bursts = count / kStreamBurst;
  for (std::uint64_t posted = 0; tally.arrived() < count || tally.sent() < bursts;) {
    if ((posted + 1) * kStreamBurst <= tally.arrived()) {
      const BurstOutcome outcome =
          end.Post({.offset_bytes = kStreamSlots * bytes, .bytes = kAcknowledgementBytes});
      if (outcome.failed) [[unlikely]]
        return end.error();
      posted += outcome.posted;
    }
    if (!PollOnce(end, tally, patience, status)) [[unlikely]]
      return status;
  }
  return tally.Check(
      {.sent = bursts, .arrived = count, .arrived_slots = kStreamSlots, .arrived_bytes = bytes});
}

// Runs one side in the caller's thread and the other in one of its own, until both have ended. The
// first that fails sets the flag that both are given. Returns its failure.
using Side = std::function<absl::Status(const std::atomic<bool>& over)>;
absl::Status InTwoThreads(const Side& here, const Side& there);

// Processors that this process may use.
std::size_t Processors();

}  // namespace drydock::bench

#endif  // DRYDOCK_TESTING_BENCHMARKS_TWO_THREADS_H_
