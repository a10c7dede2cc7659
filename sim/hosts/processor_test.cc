// Threads that spin on every processor, and one that waits beside them.

#include "drydock/sim/hosts/processor.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/sim/hosts/host.h"
#include "drydock/sim/hosts/testing/station.h"
#include "drydock/sim/profile/profile.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using namespace std::chrono_literals;

// As many as there are processors, until it dies.
class Spinners {
 public:
  Spinners() {
    for (unsigned i = 0; i < std::thread::hardware_concurrency(); ++i) {
      threads_.emplace_back([this] {
        while (!stop_.load(std::memory_order_relaxed)) {
        }
      });
    }
  }
  ~Spinners() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

TEST(ProcessorTest, WhoYieldsToSpinnersFindsOut) {
  const Spinners spinners;
  sim::Processor processor;
  const auto deadline = std::chrono::steady_clock::now() + 30s;
  while (!processor.crowded() && std::chrono::steady_clock::now() < deadline) processor.Yield();
  EXPECT_TRUE(processor.crowded());
}

// A doorbell in memory that the program rings without a call, while programs spin everywhere: with
// turns of theirs in between this takes milliseconds each time. The thread's own clock counts, for
// the test may have to wait for its turn as well.
TEST(ProcessorTest, TheHostsThreadSeesMemoryWhileOthersSpin) {
  const absl::StatusOr<std::unique_ptr<sim::Host>> host =
      sim::Host::Join({.fabric = FreshFabric(), .profile = &StationProfile()});
  ASSERT_TRUE(host.ok()) << host.status();
  std::atomic<std::chrono::steady_clock::time_point> rung{};
  std::atomic<std::size_t> seen = 0;
  std::vector<std::chrono::nanoseconds> waits;
  int watch = 0;
  {
    const std::lock_guard lock((*host)->mutex());
    watch = (*host)->Watch([&, last = rung.load()]() mutable {
      const auto when = rung.load();
      if (when == last) return false;
      last = when;
      waits.push_back(std::chrono::steady_clock::now() - when);
      seen = waits.size();
      return true;
    });
  }
  // Of three quarters, other programs may be the reason, and of a whole round, too: one is enough.
  constexpr std::size_t kRings = 100;
  std::chrono::nanoseconds quarter = 2ms;
  for (int round = 0; round < 20 && quarter >= 2ms; ++round) {
    {
      const Spinners spinners;
      for (std::size_t i = 0; i < kRings; ++i) {
        const std::size_t before = seen;
        rung = std::chrono::steady_clock::now();
        while (seen == before) {
        }
      }
    }
    const std::lock_guard lock((*host)->mutex());
    std::vector<std::chrono::nanoseconds> last(waits.end() - kRings, waits.end());
    std::sort(last.begin(), last.end());
    quarter = last[kRings / 4];
  }
  {
    const std::lock_guard lock((*host)->mutex());
    (*host)->Unwatch(watch);
  }
  EXPECT_LT(quarter, 2ms);
}

}  // namespace
}  // namespace drydock::sim_testing
