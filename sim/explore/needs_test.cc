// Devices that have hardly more than a program says it needs.

#include "drydock/sim/explore/needs.h"

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "drydock/coro/event_loop.h"
#include "drydock/sim/explore/capsule.h"
#include "drydock/sim/explore/capsule_json.h"
#include "drydock/sim/explore/nodes.h"
#include "drydock/sim/explore/run_seed.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::sim::explore {
namespace {

using ::testing::AllOf;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;

TEST(NeedsTest, DeviceHasWhatIsNeededAndLittleMore) {
  const Profile& usual = **FindProfile("small");
  std::set<std::uint32_t> registrations;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const Profile tight =
        WithLittleMore(usual, {.registrations = 5, .address_handles = 3, .completions = 9}, seed);
    EXPECT_THAT(tight.device.max_mr, AllOf(Ge(5u), Le(7u)));
    EXPECT_THAT(tight.device.max_ah, AllOf(Ge(3u), Le(5u)));
    EXPECT_THAT(tight.device.max_cq, AllOf(Ge(1u), Le(3u)));
    EXPECT_THAT(tight.limits.completion_queue_depth, ::testing::AnyOf(16u, 32u));
    EXPECT_EQ(tight.limits.max_memory_regions, tight.device.max_mr);
    EXPECT_EQ(tight.limits.send_queue_depth, usual.limits.send_queue_depth);
    registrations.insert(tight.device.max_mr);
  }
  EXPECT_EQ(registrations.size(), 3u);
}

TEST(NeedsTest, NobodyGetsMoreThanTheProfileHas) {
  const Profile& usual = **FindProfile("small");
  const Profile same = WithLittleMore(usual,
                                      {.registrations = 1u << 20,
                                       .address_handles = 1u << 20,
                                       .completion_queues = 1u << 20,
                                       .completions = 1u << 20},
                                      1);
  EXPECT_EQ(same.device.max_mr, usual.device.max_mr);
  EXPECT_EQ(same.device.max_cq, usual.device.max_cq);
  EXPECT_EQ(same.limits.completion_queue_depth, usual.limits.completion_queue_depth);
  EXPECT_EQ(same.device.max_ah, usual.device.max_ah);
}

// Says that it registers once.
class Hoarder final : public Scenario {
 public:
  explicit Hoarder(int registrations) : registrations_(registrations) {}

  std::string_view name() const override { return "hoarder"; }
  std::string_view description() const override { return "keeps what it has registered"; }
  std::optional<Needs> needs(const Parameters&) const override {
    return Needs{.registrations = 1, .completions = 1};
  }
  Outcome Run(Trial& trial) const override {
    coro::EventLoop loop(trial.clock());
    const auto machine = *OpenNode(trial, loop, "a");
    std::vector<fabric::async::BufferRef> kept;
    for (int i = 0; i < registrations_; ++i) {
      auto buffer = machine->Allocate(64);
      if (!buffer.ok()) return Outcome::Of(buffer.status());
      kept.push_back(*buffer);
    }
    return Outcome::Of(absl::OkStatus());
  }

 private:
  const int registrations_;
};

TEST(NeedsTest, WhoNeedsMoreThanItSaysFails) {
  RunSpec spec;
  spec.tight = true;
  EXPECT_EQ(RunOnce(Hoarder(1), spec).verdict, Verdict::kCorrect);
  const SeedResult failed = RunOnce(Hoarder(4), spec);  // two more are never had
  EXPECT_EQ(failed.verdict, Verdict::kUnexplainedError);
  EXPECT_THAT(failed.text, HasSubstr("the NIC has no key left of its"));
  spec.tight = false;
  EXPECT_EQ(RunOnce(Hoarder(4), spec).verdict, Verdict::kCorrect);
}

TEST(NeedsTest, OnlyTheSwarmIsTightAndACapsuleKeepsIt) {
  EXPECT_TRUE(Swarm().tight);
  EXPECT_FALSE(NoFaults().tight);
  RunSpec spec;
  spec.tight = true;
  const Hoarder scenario(4);
  const Capsule capsule = MakeCapsule(scenario, spec, RunTraced(scenario, spec));
  ASSERT_OK_AND_ASSIGN(const Capsule read, ParseCapsule(FormatCapsule(capsule)));
  EXPECT_TRUE(read.run.tight);
  EXPECT_EQ(RunOnce(scenario, read.run).verdict, Verdict::kUnexplainedError);
}

}  // namespace
}  // namespace drydock::sim::explore
