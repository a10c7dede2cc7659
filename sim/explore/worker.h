// A child process that runs a range of seeds.

#ifndef DRYDOCK_SIM_EXPLORE_WORKER_H_
#define DRYDOCK_SIM_EXPLORE_WORKER_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "drydock/sim/explore/seed_record.h"
#include "drydock/sim/explore/verdict.h"

namespace drydock::sim::explore {

// Both ends included.
struct SeedRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

// Ownership: owns the process; destruction ends it and reaps it. Threads: the one that started it.
class Worker {
 public:
  // Forks; the child runs `run` for each seed of the range, in order, and ends. kInternal: no
  // process or no pipe. REQUIRES: this process has one thread.
  static absl::StatusOr<std::unique_ptr<Worker>> Start(
      const SeedRange& range, const std::function<SeedResult(std::uint64_t seed)>& run);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker();

  // Readable when there is something to read, or the child has ended.
  int descriptor() const { return descriptor_; }
  const SeedRange& range() const { return range_; }
  // The seed that runs, or that comes next; after the range's last one the number that follows it.
  std::uint64_t seed() const { return seed_; }

  // Reads the bytes that are there, and calls `ended` for each seed that has ended. False: the
  // child has closed its end.
  bool Read(const std::function<void(const SeedResult&)>& ended);

  // Ends the child now.
  void Kill();
  // How the child ended: "ended by signal 11 (Segmentation fault)"; empty: having done all of its
  // range, or all up to a seed that would never have ended, which it has told. REQUIRES: Read
  // returned false, or Kill was called; once.
  std::string Reap();

 private:
  Worker(pid_t pid, int descriptor, const SeedRange& range)
      : pid_(pid), descriptor_(descriptor), range_(range), seed_(range.first) {}

  const pid_t pid_;
  const int descriptor_;
  const SeedRange range_;
  bool reaped_ = false;
  bool told_ = false;  // its last word was the end of a seed
  std::string buffer_;
  std::uint64_t seed_;
};

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_WORKER_H_
