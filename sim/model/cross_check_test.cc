// The predictor calculates, and the simulator plays a workload through, packet by packet and post
// by post: on the same workload the two agree.

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/coro/time.h"
#include "drydock/sim/model/player.h"
#include "drydock/sim/model/predictor.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::sim::model {
namespace {

struct Case {
  const char* name;
  const char* profile;
  Workload load;
  Limiter limiter;
  std::uint64_t requests_per_nic;
};

void PrintTo(const Case& c, std::ostream* os) { *os << c.name; }

class CrossCheckTest : public ::testing::TestWithParam<Case> {};

TEST_P(CrossCheckTest, PredictorAndSimulatorAgree) {
  const Case& c = GetParam();
  const Profile& profile = **FindProfile(c.profile);
  const absl::StatusOr<Prediction> predicted = Predict(profile, c.load);
  ASSERT_TRUE(predicted.ok()) << predicted.status();
  EXPECT_EQ(Name(predicted->limiter), Name(c.limiter));
  const PlayOptions options = {.requests_per_nic = c.requests_per_nic};
  const absl::StatusOr<Played> played = Play(profile, c.load, options);
  ASSERT_TRUE(played.ok()) << played.status();
  EXPECT_NEAR(predicted->operations_per_s / played->pages_per_s, 1, 0.10)
      << "predicted " << predicted->operations_per_s << ", simulated " << played->pages_per_s
      << " pages a second, seed " << options.seed;
}

Workload Load(std::size_t nics, std::size_t threads, std::uint64_t page_bytes, std::size_t window,
              std::size_t burst) {
  Workload load;
  load.nics = nics;
  load.threads = threads;
  load.page_bytes = page_bytes;
  load.window = window;
  load.burst = burst;
  return load;
}

// docs/performance.md says how many these are, and of which limiters.
std::vector<Case> Cases() {
  std::vector<Case> cases = {
      {"wire", "p5", Load(1, 1, 64 << 10, 64, 4), Limiter::kWire, 300},
      {"receive_side", "p5en", Load(1, 1, 64 << 10, 64, 4), Limiter::kReceiveSide, 300},
      {"window", "p5", Load(1, 1, 4 << 10, 4, 1), Limiter::kWindow, 2000},
      {"window_of_a_burst", "p5", Load(1, 1, 4 << 10, 8, 16), Limiter::kWindow, 2000},
      {"window_of_a_burst_and_a_half", "p5", Load(1, 1, 8 << 10, 24, 16), Limiter::kWindow, 2000},
      {"window_of_a_queue", "p5", Load(1, 1, 64, 1 << 14, 16), Limiter::kPostRate, 20'000},
      {"window_of_long_writes", "p5en", Load(1, 1, 256 << 10, 2, 1), Limiter::kWindow, 200},
      {"bursts", "p5", Load(8, 2, 2 << 10, 64, 16), Limiter::kPostRate, 600},
      {"paged_8_KiB", "p5en", Load(2, 1, 8 << 10, 128, 16), Limiter::kPostRate, 1500},
  };
  Workload load = Load(4, 1, 1 << 10, 32, 1);
  load.lazy = false;
  load.pinned = false;
  cases.push_back({"one_thread", "p5", load, Limiter::kPostRate, 600});
  load = Load(8, 4, 1 << 10, 32, 1);
  load.sharded = load.lazy = false;
  cases.push_back({"shared_state", "p5", load, Limiter::kPostRate, 500});
  load.pinned = false;
  cases.push_back({"roaming", "p5", load, Limiter::kNuma, 500});
  load = Load(1, 1, 64, 64, 1);
  load.bare = true;
  load.pattern = Pattern::kDrained;
  cases.push_back({"drained_64_B", "p5", load, Limiter::kWindow, 64 * 60});
  load.page_bytes = 64 << 10;
  cases.push_back({"drained_64_KiB", "p5", load, Limiter::kWindow, 64 * 6});
  load.page_bytes = 384 << 10;
  cases.push_back({"drained_384_KiB", "p5", load, Limiter::kWindow, 64 * 4});
  load.nics = 8;
  load.page_bytes = 4 << 10;
  load.window = 8;
  cases.push_back({"drained_by_one_thread", "p5", load, Limiter::kWindow, 64 * 6});
  load = Load(2, 1, 4 << 10, 128, 1);
  load.bare = load.far = true;
  cases.push_back({"far_threads", "p5", load, Limiter::kNuma, 1500});
  load = Load(4, 1, 64 << 10, 64, 16);
  load.route = Route::kCrossing;
  cases.push_back({"another_rail", "p5", load, Limiter::kRoute, 200});
  load.route = Route::kLoopback;
  cases.push_back({"loopback", "p5", load, Limiter::kRoute, 100});
  load.route = Route::kAligned;
  load.receivers = 1;
  cases.push_back({"one_receiver", "p5en", load, Limiter::kReceiveSide, 200});
  load.receivers = 0;
  load.direction = Direction::kRead;
  cases.push_back({"reads", "p5en", load, Limiter::kRoute, 200});
  load = Load(4, 1, 64 << 10, 64, 16);
  load.policy = Policy::kSplit;
  cases.push_back({"split", "p5", load, Limiter::kPostRate, 400});
  load = Load(4, 4, 64 << 10, 32, 16);
  load.memory = Memory::kHost;
  cases.push_back({"host_memory", "p5", load, Limiter::kMemory, 200});
  load.memory = Memory::kFar;
  cases.push_back({"far_memory", "p5en", load, Limiter::kFarMemory, 200});
  load.route = Route::kLoopback;
  load.nics = load.threads = 16;
  cases.push_back({"far_memory_both_ways", "p5en", load, Limiter::kFarMemory, 200});
  load = Load(16, 8, 64 << 10, 64, 16);
  load.gpus = 8;
  load.policy = Policy::kPinned;
  load.memory = Memory::kFar;
  cases.push_back({"far_memory_of_a_nic_of_each_gpu", "p5en", load, Limiter::kFarMemory, 200});
  load = Load(8, 4, 64 << 10, 32, 16);
  load.gpus = load.peers = 2;
  load.policy = Policy::kByPeer;
  load.memory = Memory::kHost;
  cases.push_back({"host_memory_of_two_gpus", "p5", load, Limiter::kMemory, 200});
  load = Load(16, 1, 4 << 10, 128, 1);
  load.gpus = 8;
  load.policy = Policy::kPinned;
  load.bare = load.far = true;
  cases.push_back({"one_thread_for_both_nodes", "p5en", load, Limiter::kPostRate, 600});
  load = Load(4, 1, 64 << 10, 64, 16);
  load.policy = Policy::kNearFirst;
  load.pattern = Pattern::kSingle;
  cases.push_back({"one_page_at_a_time", "p5", load, Limiter::kWindow, 1000});
  load = Load(4, 4, 1 << 10, 64, 16);
  cases.push_back({"nodes_not_known", "trn1", load, Limiter::kPostRate, 600});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, CrossCheckTest, ::testing::ValuesIn(Cases()),
                         [](const auto& one) { return std::string(one.param.name); });

// The whole of a run that ends, in which every NIC meets its peer.
TEST(PlayTest, FirstContactIsPaidByShortRuns) {
  const Profile& profile = **FindProfile("p5");
  Workload load = Load(4, 2, 64 << 10, 64, 16);
  load.operations = 4000;
  load.warm = false;
  const absl::StatusOr<Prediction> predicted = Predict(profile, load);
  const absl::StatusOr<Played> played = Play(profile, load);
  ASSERT_TRUE(predicted.ok() && played.ok()) << predicted.status() << played.status();
  EXPECT_EQ(predicted->limiter, Limiter::kFirstContact);
  EXPECT_NEAR(predicted->overall_gbps * 1e9 / 8 / (64 << 10) / played->pages_per_s, 1, 0.10);
  const coro::Duration first = predicted->contact_time + predicted->first_pages;
  EXPECT_NEAR(static_cast<double>(first.count()) / static_cast<double>(played->first_page.count()),
              1, 0.10);
  load.warm = true;
  EXPECT_GT(Play(profile, load)->pages_per_s, 5 * played->pages_per_s);
}

// A receiver's queue fills in the first windows: until then more is sent than it takes in.
TEST(PlayTest, ARateIsSteadyWhereThatIsAskedFor) {
  const Workload load = Load(1, 1, 64 << 10, 64, 4);
  const auto mean = [&](int seeds, PlayOptions options) {
    double sum = 0;
    for (int seed = 1; seed <= seeds; ++seed) {
      options.seed = static_cast<std::uint64_t>(seed);
      sum += Play(**FindProfile("p5en"), load, options)->pages_per_s / seeds;
    }
    return sum;
  };
  const double of_many = mean(5, {.requests_per_nic = 64 * 100});
  EXPECT_GT(mean(5, {.requests_per_nic = 128}), 1.15 * of_many);
  // One seed in thirty is taken for steady too early.
  EXPECT_NEAR(mean(30, {.requests_per_nic = 128, .steady = 0.03}) / of_many, 1, 0.05);
}

// The mean of some seeds: the last of many packets may be a late one.
TEST(PlayTest, TheFirstPagesEndWhenTheModelSays) {
  const auto check = [](const char* name, const char* profile, auto change, double within = 0.15) {
    constexpr std::uint64_t kSeeds = 20;
    Workload load = Load(8, 2, 64 << 10, 64, 16);
    change(load);
    const absl::StatusOr<Prediction> predicted = Predict(**FindProfile(profile), load);
    ASSERT_TRUE(predicted.ok()) << predicted.status();
    load.operations = load.nics;
    coro::Duration sum{};
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const absl::StatusOr<Played> played = Play(**FindProfile(profile), load, {.seed = seed});
      ASSERT_TRUE(played.ok()) << played.status();
      sum += played->first_page;
    }
    EXPECT_NEAR(static_cast<double>(predicted->first_pages.count()) /
                    static_cast<double>(sum.count() / static_cast<std::int64_t>(kSeeds)),
                1, within)
        << name;
  };
  check("as it is", "p5", [](Workload&) {});
  check("one NIC", "p5", [](Workload& load) { load.nics = load.threads = 1; });
  check("one thread", "p5", [](Workload& load) { load.threads = 1; });
  check("all", "p5", [](Workload& load) { load.nics = 32, load.gpus = load.threads = 8; });
  check("short pages", "p5", [](Workload& load) { load.page_bytes = 64; });
  check("long pages", "p5", [](Workload& load) { load.page_bytes = 1 << 20; });
  check("reads", "p5", [](Workload& load) { load.direction = Direction::kRead; });
  check("loopback", "p5", [](Workload& load) { load.route = Route::kLoopback; });
  // The late ones are on their way while the others are taken in, which the model does not know.
  check(
      "one receiver", "p5", [](Workload& load) { load.receivers = 1; }, 0.25);
  check("p5en", "p5en", [](Workload&) {});
}

// The mean of some seeds.
TEST(PlayTest, ShortRunsTakeAsLongAsTheModelSays) {
  const auto check = [](const char* name, const Workload& load) {
    constexpr std::uint64_t kSeeds = 10;
    const Profile& profile = **FindProfile("p5");
    const absl::StatusOr<Prediction> predicted = Predict(profile, load);
    ASSERT_TRUE(predicted.ok()) << predicted.status();
    double mean = 0;  // nanoseconds
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const absl::StatusOr<Played> played = Play(profile, load, {.seed = seed});
      ASSERT_TRUE(played.ok()) << played.status();
      mean += static_cast<double>(load.operations) / played->pages_per_s * 1e9 / kSeeds;
    }
    EXPECT_NEAR(static_cast<double>(predicted->total.count()) / mean, 1, 0.15) << name;
  };
  Workload load = Load(1, 1, 64 << 10, 64, 16);
  load.operations = 8;
  check("eight pages", load);
  load.operations = 160;
  load.pattern = Pattern::kDrained;
  check("two windows and a half", load);
  load.operations = 8;
  load.pattern = Pattern::kSingle;
  check("one page at a time", load);
  load = Load(1, 1, 32 << 20, 1, 1);
  load.operations = 1;
  check("one long page", load);
  load = Load(32, 8, 64 << 10, 64, 16);
  load.gpus = 8;
  load.operations = 64;
  check("two pages of each NIC", load);
}

TEST(PlayTest, SaysWhatItDoesNotPlay) {
  const auto status = [](auto change) {
    Workload load = Load(4, 1, 64 << 10, 64, 16);
    change(load);
    return Play(**FindProfile("p5"), load).status();
  };
  using ::drydock::testing_matchers::StatusIs;
  using ::testing::HasSubstr;
  constexpr auto kNot = absl::StatusCode::kUnimplemented;
  EXPECT_THAT(status([](Workload& load) { load.pollers = 1; }),
              StatusIs(kNot, HasSubstr("only reads completions")));
  EXPECT_THAT(status([](Workload& load) {
                load.pattern = Pattern::kSingle;
                load.policy = Policy::kSplit;
              }),
              StatusIs(kNot, HasSubstr("parts of other NICs")));
  EXPECT_THAT(status([](Workload& load) {
                load.route = Route::kCrossing;
                load.receivers = 1;
              }),
              StatusIs(kNot, HasSubstr("fewer receivers")));
  EXPECT_THAT(status([](Workload& load) { load.page_bytes = 16 << 20; }),
              StatusIs(kNot, HasSubstr("MiB of memory")));
  EXPECT_THAT(status([](Workload& load) { load.operations = 1'000'000; }),
              StatusIs(kNot, HasSubstr("packets")));
  Workload far;
  far.memory = Memory::kFar;
  EXPECT_THAT(Play(**FindProfile("p5-4xlarge"), far),
              StatusIs(kNot, HasSubstr("one of two NUMA nodes")));
  EXPECT_EQ(status([](Workload& load) { load.nics = 33; }).code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace drydock::sim::model
