// Measures several things side by side in one run, so that their ratios hold whatever the machine
// is doing.
//
// Time is cut into rounds. In each round every case runs for one slice, in a fresh random order,
// with an untimed warm-up right before it. What is quoted are medians over the rounds, and of the
// ratios within each round (statistics.h): the absolute figures of a shared machine drift by tens
// of per cent, the ratios hardly.

#ifndef DRYDOCK_TESTING_BENCHMARKS_PAIRED_H_
#define DRYDOCK_TESTING_BENCHMARKS_PAIRED_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/coro/clock.h"
#include "drydock/coro/time.h"

namespace drydock::bench {

// One thing to measure. `run` performs that many operations of it, a multiple of `granule`; the
// first failure ends the whole measurement.
struct Case {
  std::string name;
  std::uint64_t granule = 1;
  std::function<absl::Status(std::uint64_t operations)> run;
};

struct PairedOptions {
  std::size_t rounds = 21;
  // How long one case runs in one round. Zero: a single granule, as a test wants it.
  coro::Duration slice = std::chrono::milliseconds(4);
  std::uint64_t seed = 1;  // of the order in each round
};

// What one case cost.
struct Series {
  std::string name;
  std::vector<double> nanoseconds;  // per operation, one sample a round
};

// The time that this process has computed on all its threads, in user and kernel mode. On a machine
// that is busy otherwise it is steadier than the time on the wall; a case that sleeps must not be
// measured by it. Thread-safe.
class ProcessorClock final : public coro::Clock {
 public:
  coro::Time Now() const override;
  // Nothing to wait for: this time passes by working.
  bool WaitUntil(coro::Time) override { return false; }
  bool IsVirtual() const override { return false; }
};

// Measures `cases` by `clock`; one Series per case, in their order. `tick` is called after each
// slice (to show progress); it may be empty. REQUIRES: options.rounds > 0. Errors: those of the
// cases, with the name of the case in front.
absl::StatusOr<std::vector<Series>> MeasurePaired(const std::vector<Case>& cases,
                                                  const PairedOptions& options,
                                                  const coro::Clock& clock,
                                                  const std::function<void()>& tick);

}  // namespace drydock::bench

#endif  // DRYDOCK_TESTING_BENCHMARKS_PAIRED_H_
