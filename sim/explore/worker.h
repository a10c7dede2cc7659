// A child process that runs a range of seeds.

#ifndef DRYDOCK_SIM_EXPLORE_WORKER_H_
#define DRYDOCK_SIM_EXPLORE_WORKER_H_

#include <sys/types.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/coro/steady_clock.h"
#include "drydock/coro/time.h"
#include "drydock/sim/explore/seed_record.h"
#include "drydock/sim/explore/verdict.h"

namespace drydock::sim::explore {

// Both ends included.
struct SeedRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

// Ownership: owns the process; destruction ends it and reaps it, and so does this process's end, by
// whatever signal. Threads: the one that started it.
class Worker {
 public:
  // Forks; the child runs `run` for each seed of the range, in order, and ends. kInternal: no
  // process, no pipe or no memory. REQUIRES: this process has one thread.
  static absl::StatusOr<std::unique_ptr<Worker>> Start(
      const SeedRange& range, const std::function<SeedResult(std::uint64_t seed)>& run);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker();

  // Waits until one of the workers has told something or ended, for about an eighth of `patience`
  // and a second at most. kInternal: the system cannot wait.
  static absl::Status Await(std::span<Worker* const> workers, coro::Duration patience);
  // Of the last Await: whether there is something to read, or the child has ended.
  bool readable() const { return readable_; }
  // How long there has been nothing. Between two calls of Await at most about an eighth of the
  // patience counts: this process may have been stopped itself (Ctrl-Z, a debugger).
  coro::Duration silent() const { return silent_; }

  const SeedRange& range() const { return range_; }
  // The seed that the child runs, or comes to next.
  std::uint64_t seed() const { return std::max(begun(), untold_); }
  // The first seed whose result has not been read; after the range's last one the number that
  // follows it. Below seed() when results were lost with the child.
  std::uint64_t untold() const { return untold_; }

  // Reads the bytes that are there, and calls `ended` for each seed that they tell of: a child
  // tells of those that ended within about 10 ms at once. False: the child has closed its end.
  bool Read(const std::function<void(const SeedResult&)>& ended);

  // Ends the child now.
  void Kill();
  // How the child ended: "ended by signal 11 (Segmentation fault)"; empty: having done all of its
  // range, or all up to a seed that would never have ended, which it has told. REQUIRES: Read
  // returned false, or Kill was called; once.
  std::string Reap();

 private:
  // A number that the child writes and this process reads, also after the child's end.
  using SharedSeed = std::unique_ptr<std::atomic<std::uint64_t>, void (*)(void*)>;

  Worker(pid_t pid, int descriptor, const SeedRange& range, SharedSeed running)
      : pid_(pid),
        descriptor_(descriptor),
        range_(range),
        running_(std::move(running)),
        looked_(coro::SteadyClock().Now()),
        untold_(range.first) {}
  static absl::StatusOr<SharedSeed> ShareSeed(std::uint64_t seed);
  // The last seed that the child has begun.
  std::uint64_t begun() const { return running_->load(std::memory_order_relaxed); }

  const pid_t pid_;
  const int descriptor_;
  const SeedRange range_;
  const SharedSeed running_;
  bool readable_ = false;
  coro::Time looked_;  // when Await last did
  coro::Duration silent_{};
  bool reaped_ = false;
  std::string buffer_;
  std::uint64_t untold_;
};

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_WORKER_H_
