// fi_rma_bw's scheme on a simulated pair of NICs: what is timed, and what happens when the peer
// does not answer.

#include "drydock/testing/benchmarks/rma_bandwidth.h"

#include <memory>

#include "drydock/sim/driver/sim_fabric.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/world/world.h"
#include "drydock/testing/benchmarks/published_p5.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gtest/gtest.h"

namespace drydock::bench {
namespace {

using ::drydock::testing_matchers::IsOk;

struct Pair {
  explicit Pair(std::uint64_t seed)
      : world(seed, sim::Profiles().front()),
        target_node(world.AddNode("target")),
        initiator(sim::OpenSimFabric(world, world.AddNode("initiator"))),
        target(sim::OpenSimFabric(world, target_node)) {}

  absl::StatusOr<double> Measure(const RmaBandwidthOptions& options) {
    return MeasureRmaBandwidth(*initiator, *target, world, options);
  }

  sim::World world;
  sim::Node& target_node;
  std::unique_ptr<fabric::Fabric> initiator;
  std::unique_ptr<fabric::Fabric> target;
};

double Nanoseconds(const RmaBandwidthOptions& options, std::uint64_t seed = 1) {
  const absl::StatusOr<double> measured = Pair(seed).Measure(options);
  EXPECT_THAT(measured, IsOk()) << "seed " << seed;
  return measured.value_or(0);
}

TEST(RmaBandwidthTest, TheSameSeedTakesTheSameTime) {
  const RmaBandwidthOptions options{.bytes = 4096, .window = 8, .iterations = 100};
  EXPECT_EQ(Nanoseconds(options, 7), Nanoseconds(options, 7));
  EXPECT_NE(Nanoseconds(options, 7), Nanoseconds(options, 8));
}

TEST(RmaBandwidthTest, AWindowSharesOneRoundTrip) {
  const double alone = Nanoseconds({.bytes = 64, .window = 1, .iterations = 256});
  const double together = Nanoseconds({.bytes = 64, .window = 16, .iterations = 256});
  EXPECT_GT(alone, 4 * together);
}

TEST(RmaBandwidthTest, LongWritesTakeTheirTimeOnTheLink) {
  constexpr std::size_t kLong = 1 << 20;
  const double nanoseconds =
      Nanoseconds({.bytes = kLong, .window = 4, .warm_up = 0, .iterations = 8});
  const double on_the_link = 8 * kLong / sim::Profiles().front().link_gbps;
  EXPECT_GT(nanoseconds, on_the_link);
  EXPECT_LT(nanoseconds, 2 * on_the_link);
}

TEST(RmaBandwidthTest, APeerThatDiesIsAnError) {
  Pair pair(1);
  pair.target_node.Kill();
  EXPECT_FALSE(pair.Measure({.bytes = 64, .window = 2, .iterations = 2}).ok());
}

TEST(RmaBandwidthTest, CountsAreThoseOfTheTool) {
  EXPECT_EQ(RmaBandwidthIterations(32 << 10), 20000u);
  EXPECT_EQ(RmaBandwidthIterations(64 << 10), 2000u);
  EXPECT_EQ(RmaBandwidthIterations(768 << 10), 2000u);
  EXPECT_EQ(RmaBandwidthIterations(1 << 20), 200u);
}

// The figures as they were typed in: sizes ascend, and none is faster than the link.
TEST(PublishedP5Test, IsAPlausibleSweep) {
  ASSERT_EQ(kPublishedP5.size(), 46u);
  EXPECT_EQ(kPublishedP5.front().bytes, 1u);
  EXPECT_EQ(kPublishedP5.back().bytes, 8u << 20);
  for (std::size_t i = 0; i < kPublishedP5.size(); ++i) {
    const PublishedPoint& point = kPublishedP5[i];
    if (i > 0) {
      EXPECT_LT(kPublishedP5[i - 1].bytes, point.bytes);
    }
    const double bytes_per_microsecond = static_cast<double>(point.bytes) / point.microseconds;
    EXPECT_LT(bytes_per_microsecond, 12500) << point.bytes << " B";  // 100 Gbit/s
    EXPECT_GT(point.microseconds, 1.2) << point.bytes << " B";
  }
}

}  // namespace
}  // namespace drydock::bench
