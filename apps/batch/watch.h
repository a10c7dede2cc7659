// What the NICs have done by when: for the progress line, the picture over time, and the rate in
// the middle of a run.

#ifndef DRYDOCK_APPS_BATCH_WATCH_H_
#define DRYDOCK_APPS_BATCH_WATCH_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "drydock/apps/batch/load.h"
#include "drydock/coro/clock.h"
#include "drydock/coro/steady_clock.h"
#include "drydock/coro/task.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/async/transfer/engine.h"

namespace drydock::apps::batch {

struct Sample {
  coro::Duration at{};               // since the first page
  std::vector<std::uint64_t> bytes;  // that each NIC's peers have, in the order of GPUs
};

struct NicResult {
  std::string name;
  std::uint64_t bytes = 0;
  std::uint64_t doorbells = 0;
  std::uint64_t refused_posts = 0;
  bool alive = true;
};

// What came of a run.
struct BatchResult {
  coro::Duration took{};
  std::vector<NicResult> nics;  // the sender's, in the order of GPUs
  std::vector<Sample> samples;
  std::uint64_t duplicates = 0;  // announcements
  std::uint64_t reissued = 0;    // pages
  bool correct = false;          // every byte is where it belongs
};

// Gbit/s while all NICs were at it: between a quarter and nine tenths of the bytes. None where a
// run is too short to have such a middle: pages of a NIC come in spurts as long as its window.
std::optional<double> SteadyGbps(const Load& load, const BatchResult& result);

// Samples engines while they send. On a terminal it draws a line: rate, share of the links, and a
// bar for each NIC. Dies before the engines.
class Watch {
 public:
  // `line_gbps`: of one NIC; 0: not told. `out` where `terminal`.
  Watch(std::vector<fabric::async::transfer::Engine*> engines, const Load& load, double line_gbps,
        std::FILE* out, bool terminal);

  // Bytes that were sent before this do not count.
  void Begin(coro::Time now);
  // Samples until the run ends: to be cancelled then. `interval`: of the loop's clock; longer when
  // there are many samples.
  coro::Task<absl::Status> Run(coro::Duration interval);
  // The last sample, and all of the result that the engines know.
  BatchResult End(coro::Time now);

 private:
  static constexpr std::size_t kMostSamples = 512;

  std::vector<std::uint64_t> BytesNow() const;
  void Take(coro::Time now);
  void Draw(const Sample& sample);
  void Clear();

  const std::vector<fabric::async::transfer::Engine*> engines_;
  const Load load_;
  const double line_gbps_;
  std::FILE* const out_;
  const bool terminal_;
  coro::SteadyClock wall_;
  const coro::Time opened_;
  coro::Time drawn_{};
  bool visible_ = false;
  coro::Time begin_{};
  std::vector<std::uint64_t> before_;
  std::vector<Sample> samples_;
};

}  // namespace drydock::apps::batch

#endif  // DRYDOCK_APPS_BATCH_WATCH_H_
