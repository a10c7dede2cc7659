// Dispatch and combine between ranks on stand-in GPUs: right to the bit, or a clean error, whatever
// the NICs do.

#include "drydock/gpu/gda/moe_run.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "drydock/fabric/faults/engine.h"
#include "drydock/fabric/faults/plan.h"
#include "drydock/gpu/gda/device/testing/host_ranks.h"
#include "drydock/sim/testing/fault_scene.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::gpu::gda {
namespace {

using fabric::faults::Fault;
using fabric::faults::FaultRule;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr MoeShape kShape = {
    .ranks = 3, .tokens = 5, .top_k = 2, .experts_per_rank = 2, .words = 24};
constexpr Grid kGrid = {1, 4};  // two warps of the stand-in
constexpr std::uint64_t kSecond = 1'000'000'000;

struct MoeScene {
  explicit MoeScene(std::vector<FaultRule> rules, std::uint64_t timeout_ns = 60 * kSecond,
                    const MoeShape& shape = kShape)
      : engine(sim_testing::EngineOf(std::move(rules), 1)),
        ranks(shape.ranks, {.queues = 2,
                            .window_bytes = MoeRun::WindowBytes(shape),
                            .timeout_ns = timeout_ns,
                            .stores_seed = 3,
                            .faults = engine}),
        run(ranks.ranks(), shape) {
    EXPECT_TRUE(run.Open().ok());
  }
  // Both kernels; then the result must be right.
  absl::Status Round(std::uint64_t seed, MoeWay way = MoeWay::kNics) {
    EXPECT_TRUE(run.Fill(seed).ok());
    const absl::StatusOr<MoeTimes> times = run.Round(way, kGrid);
    if (!times.ok()) return times.status();
    EXPECT_EQ(sim_testing::Must(run.CountWrong()), 0u) << "seed " << seed;
    return absl::OkStatus();
  }
  void ExpectFired() {
    for (const auto& report : engine->Report()) EXPECT_GT(report.fired, 0u) << report.name;
  }

  std::shared_ptr<fabric::faults::FaultEngine> engine;
  HostRanks ranks;
  MoeRun run;
};

TEST(MoeRunTest, RoundsAreRightToTheBit) {
  MoeScene scene({});
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const MoeWay way = seed % 2 == 0 ? MoeWay::kCopies : MoeWay::kNics;
    const absl::Status status = scene.Round(seed, way);
    ASSERT_TRUE(status.ok()) << status;
  }
  EXPECT_THAT(scene.ranks.ranks().Faults(), IsEmpty());
}

TEST(MoeRunTest, AResultThatWasNotComputedIsSeen) {
  MoeScene scene({});
  ASSERT_TRUE(scene.Round(1).ok());
  ASSERT_TRUE(scene.run.Fill(2).ok());
  EXPECT_EQ(sim_testing::Must(scene.run.CountWrong()), 3u * 5 * 24);
}

TEST(MoeRunTest, OneRankIsEnough) {
  MoeScene scene({}, 60 * kSecond, {.ranks = 1, .tokens = 3, .top_k = 4, .words = 8});
  const absl::Status status = scene.Round(1);
  EXPECT_TRUE(status.ok()) << status;
}

// ---- The NICs misbehave as EFA may: the result is right ----

class SurvivedTest : public ::testing::TestWithParam<std::pair<const char*, FaultRule>> {};

FaultRule Sometimes(Fault fault, double probability) {
  FaultRule rule = sim_testing::Rule(fault);
  rule.when.probability = probability;
  return rule;
}
FaultRule Late() {
  FaultRule rule = Sometimes(Fault::kStragglerWrite, 0.2);
  rule.parameters.delay = std::chrono::milliseconds(2);
  return rule;
}

INSTANTIATE_TEST_SUITE_P(
    Faults, SurvivedTest,
    ::testing::Values(std::pair("late", Late()),
                      std::pair("lost", Sometimes(Fault::kPacketLoss, 0.1)),
                      std::pair("reordered", Sometimes(Fault::kReorderedOperations, 0.3)),
                      std::pair("torn", Sometimes(Fault::kTornPlacement, 0.3)),
                      std::pair("twice", Sometimes(Fault::kDuplicatePlacement, 0.2)),
                      std::pair("flood", Sometimes(Fault::kImmediateFlood, 0.3))),
    [](const auto& one) { return std::string(one.param.first); });

TEST_P(SurvivedTest, TheResultIsRight) {
  MoeScene scene({GetParam().second});
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    const absl::Status status = scene.Round(seed);
    ASSERT_TRUE(status.ok()) << status;
  }
  scene.ExpectFired();
}

TEST(MoeRunTest, AnImmediateThatComesTwiceIsCountedOnce) {
  MoeScene scene({sim_testing::Rule(Fault::kImmediateFlood)});
  const absl::Status status = scene.Round(1);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_GT(scene.ranks.state(0).duplicates, 0u);
}

// ---- Nothing helps: an error that says where ----

TEST(MoeRunTest, ADeadNicIsAnErrorWithItsRank) {
  FaultRule dies = sim_testing::Nth(Fault::kNicDies, 9);
  dies.when.nics = {"rank1/" + Impatient().nics.front().name};
  MoeScene scene({dies}, 3 * kSecond);
  absl::Status status;
  for (std::uint64_t seed = 1; seed <= 3 && status.ok(); ++seed) status = scene.Round(seed);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("rank "));
  scene.ExpectFired();
}

TEST(MoeRunTest, AWriteThatTheTargetRefusesIsAnErrorWithItsStatus) {
  MoeScene scene({sim_testing::Nth(Fault::kRemoteAddress, 7)}, 2 * kSecond);
  const absl::Status status = scene.Round(1);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("EFA's status 7"));
}

TEST(MoeRunTest, ACompletionThatNeverComesIsATimeOut) {
  MoeScene scene({sim_testing::Nth(Fault::kLostCompletion, 7)}, 2 * kSecond);
  const absl::Status status = scene.Round(1);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("timed out"));
}

}  // namespace
}  // namespace drydock::gpu::gda
