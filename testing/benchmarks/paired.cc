#include "drydock/testing/benchmarks/paired.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/coro/check.h"
#include "drydock/coro/status_macros.h"

namespace drydock::bench {
namespace {

// A warm-up takes this share of a slice.
constexpr std::uint64_t kWarmUpShare = 8;

// More than these do not fit any slice: the clock stands still.
constexpr std::uint64_t kMostOperations = std::uint64_t{1} << 40;

absl::Status Run(const Case& measured, std::uint64_t operations) {
  const absl::Status status = measured.run(operations);
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(measured.name, ": ", status.message()));
}

absl::StatusOr<coro::Duration> Time(const Case& measured, std::uint64_t operations,
                                    const coro::Clock& clock) {
  const coro::Time start = clock.Now();
  RETURN_IF_ERROR(Run(measured, operations));
  return clock.Now() - start;
}

std::uint64_t RoundUp(std::uint64_t operations, std::uint64_t granule) {
  return std::max<std::uint64_t>(1, (operations + granule - 1) / granule) * granule;
}

// How many operations fill a slice. Doubles until a quarter of it is filled, then extrapolates.
absl::StatusOr<std::uint64_t> Calibrate(const Case& measured, coro::Duration slice,
                                        const coro::Clock& clock) {
  std::uint64_t operations = measured.granule;
  if (slice <= coro::Duration::zero()) return operations;
  for (;;) {
    ASSIGN_OR_RETURN(const coro::Duration took, Time(measured, operations, clock));
    if (4 * took >= slice) {
      const double share = static_cast<double>(slice.count()) / static_cast<double>(took.count());
      return RoundUp(static_cast<std::uint64_t>(static_cast<double>(operations) * share),
                     measured.granule);
    }
    DD_CHECK(operations < kMostOperations, "a case that takes no time cannot be measured");
    operations *= 2;
  }
}

// A permutation that is the same with every standard library.
void Shuffle(std::vector<std::size_t>& order, std::mt19937_64& random) {
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
}

}  // namespace

coro::Time ProcessorClock::Now() const {
  timespec now{};
  DD_CHECK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) == 0, "this system has no process clock");
  return coro::Time(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
}

absl::StatusOr<std::vector<Series>> MeasurePaired(const std::vector<Case>& cases,
                                                  const PairedOptions& options,
                                                  const coro::Clock& clock,
                                                  const std::function<void()>& tick) {
  DD_CHECK(options.rounds > 0, "nothing to measure");
  std::vector<Series> series;
  std::vector<std::uint64_t> operations;
  for (const Case& measured : cases) {
    series.push_back({measured.name, {}});
    ASSIGN_OR_RETURN(const std::uint64_t count, Calibrate(measured, options.slice, clock));
    operations.push_back(count);
  }
  std::mt19937_64 random(options.seed);
  std::vector<std::size_t> order(cases.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t round = 0; round < options.rounds; ++round) {
    Shuffle(order, random);
    for (const std::size_t i : order) {
      RETURN_IF_ERROR(Run(cases[i], RoundUp(operations[i] / kWarmUpShare, cases[i].granule)));
      ASSIGN_OR_RETURN(const coro::Duration took, Time(cases[i], operations[i], clock));
      series[i].nanoseconds.push_back(static_cast<double>(took.count()) /
                                      static_cast<double>(operations[i]));
      if (tick) tick();
    }
  }
  return series;
}

}  // namespace drydock::bench
