// Which events a rule fires on, its draws, and its counts.

#include "drydock/fabric/faults/engine.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::fabric::faults {
namespace {

using namespace std::chrono_literals;
using ::drydock::testing_matchers::IsOk;
using ::drydock::testing_matchers::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr Layer kLayer = Layer::kDecorator;

std::shared_ptr<FaultEngine> Make(std::vector<FaultRule> rules, std::uint64_t seed = 1) {
  return FaultEngine::Create({.mode = Legality::kIllegal, .rules = std::move(rules)}, seed,
                             {.decorator = FaultsOf(kLayer)})
      .value();
}

std::shared_ptr<FaultEngine> MakeForDevice(std::vector<FaultRule> rules) {
  return FaultEngine::Create({.mode = Legality::kIllegal, .rules = std::move(rules)}, 1,
                             {.device = FaultsOf(Layer::kDevice)})
      .value();
}

FaultRule WriteRule(std::string name = "") {
  FaultRule rule = FaultRule::Of(Fault::kSendQueueFull, std::move(name));
  rule.when.operations = {OperationKind::kWrite};
  return rule;
}

EventView Write() {
  EventView view;
  view.nic = "nic0";
  view.queue = 2;
  view.peer = 3;
  view.operation = OperationKind::kWrite;
  view.key = 77;
  view.size_bytes = 4096;
  view.immediate = 0x123;
  return view;
}

// The numbers, from 1, of those of `events` posts that some rule fires on.
std::vector<int> Fires(FaultEngine& engine, int events, const EventView& view = Write()) {
  std::vector<int> fired;
  for (int i = 1; i <= events; ++i) {
    if (engine.Decide(kLayer, Point::kPost, view)) fired.push_back(i);
  }
  return fired;
}

std::vector<int> FiresOf(const FaultRule& rule, int events) { return Fires(*Make({rule}), events); }

// ---- Schedules ----

TEST(ScheduleTest, WithoutOneEveryEligibleEventFires) {
  EXPECT_THAT(FiresOf(WriteRule(), 3), ElementsAre(1, 2, 3));
}

TEST(ScheduleTest, Nth) {
  FaultRule rule = WriteRule();
  rule.when.nth = 3;
  EXPECT_THAT(FiresOf(rule, 10), ElementsAre(3));
}

TEST(ScheduleTest, SkipAndEvery) {
  FaultRule rule = WriteRule();
  rule.when.skip = 4;
  EXPECT_THAT(FiresOf(rule, 6), ElementsAre(5, 6));
  rule.when.every = 3;
  EXPECT_THAT(FiresOf(rule, 14), ElementsAre(7, 10, 13));
}

TEST(ScheduleTest, MaxIsWhereItEnds) {
  FaultRule rule = WriteRule();
  rule.when.max = 2;
  EXPECT_THAT(FiresOf(rule, 10), ElementsAre(1, 2));
}

TEST(ScheduleTest, BurstsHaveALengthAndAGap) {
  FaultRule rule = WriteRule();
  rule.when.burst = Burst{.length = 3, .gap = 2};
  EXPECT_THAT(FiresOf(rule, 12), ElementsAre(1, 2, 3, 6, 7, 8, 11, 12));
  rule.when.nth = 5;
  EXPECT_THAT(FiresOf(rule, 20), ElementsAre(5, 6, 7));
}

TEST(ScheduleTest, BurstEndsAtMax) {
  FaultRule rule = WriteRule();
  rule.when.burst = Burst{.length = 5};
  rule.when.max = 7;
  EXPECT_THAT(FiresOf(rule, 20), ElementsAre(1, 2, 3, 4, 5, 6, 7));
}

TEST(ScheduleTest, StickyGoesOnForEver) {
  FaultRule rule = WriteRule();
  rule.when.nth = 4;
  rule.when.sticky = true;
  EXPECT_THAT(FiresOf(rule, 7), ElementsAre(4, 5, 6, 7));
}

TEST(ScheduleTest, ProbabilityIsOne) {
  FaultRule rule = WriteRule();
  rule.when.probability = 1.0;
  EXPECT_THAT(FiresOf(rule, 1000), SizeIs(1000));
}

TEST(ScheduleTest, ProbabilityIsAbout) {
  FaultRule rule = WriteRule();
  rule.when.probability = 0.25;
  // Seven standard deviations either way.
  EXPECT_NEAR(static_cast<double>(FiresOf(rule, 10000).size()), 2500, 300);
  rule.when.every = 10;  // of each tenth, a quarter
  const std::vector<int> fired = FiresOf(rule, 10000);
  EXPECT_NEAR(static_cast<double>(fired.size()), 250, 96);
  for (const int event : fired) EXPECT_EQ(event % 10, 0);
}

// These must never change: recorded seeds would mean other runs.
TEST(ScheduleTest, KnownDraws) {
  FaultRule rule = WriteRule("known");
  rule.when.probability = 0.2;
  EXPECT_THAT(FiresOf(rule, 30), ElementsAre(5, 6, 7, 13, 16, 20, 21, 22, 24));
}

// ---- Filters ----

struct FilterCase {
  const char* name;
  std::function<void(Selector&)> matching;
  std::function<void(Selector&)> other;
  bool always_known = false;  // no event is without it
};

class FilterTest : public ::testing::TestWithParam<FilterCase> {
 protected:
  static bool Fires(const std::function<void(Selector&)>& filter, const EventView& view) {
    FaultRule rule = FaultRule::Of(Fault::kSendQueueFull);
    filter(rule.when);
    const auto engine = Make({rule});
    const bool fires = static_cast<bool>(engine->Decide(kLayer, Point::kPost, view));
    EXPECT_EQ(engine->Report()[0].eligible, fires ? 1u : 0u);
    return fires;
  }
};

TEST_P(FilterTest, MatchesWhatItSays) {
  EventView view = Write();
  view.time = 5ms;
  EXPECT_TRUE(Fires(GetParam().matching, view));
  EXPECT_FALSE(Fires(GetParam().other, view));
}

// An unknown fact matches no filter that asks for it.
TEST_P(FilterTest, UnknownMatchesNothing) {
  EventView unknown;
  unknown.operation = OperationKind::kWrite;
  EXPECT_EQ(Fires(GetParam().matching, unknown), GetParam().always_known);
}

INSTANTIATE_TEST_SUITE_P(
    All, FilterTest,
    ::testing::Values(
        FilterCase{"Window",
                   [](Selector& s) {
                     s.window = Window{4ms, 6ms};
                   },
                   [](Selector& s) {
                     s.window = Window{5ms + 1ns, 6ms};
                   }},
        FilterCase{"WindowEnd",
                   [](Selector& s) {
                     s.window = Window{5ms, 5ms + 1ns};
                   },
                   [](Selector& s) {
                     s.window = Window{0ms, 5ms};
                   }},
        FilterCase{"Peer",
                   [](Selector& s) {
                     s.peers = {1, 3};
                   },
                   [](Selector& s) {
                     s.peers = {1, 2};
                   }},
        FilterCase{"Nic", [](Selector& s) { s.nics = {"nic0"}; },
                   [](Selector& s) { s.nics = {"nic1"}; }},
        FilterCase{"Queue", [](Selector& s) { s.queues = {2}; },
                   [](Selector& s) { s.queues = {0}; }},
        FilterCase{"Key", [](Selector& s) { s.keys = {77}; }, [](Selector& s) { s.keys = {7}; }},
        FilterCase{"Operation",
                   [](Selector& s) {
                     s.operations = {OperationKind::kWrite, OperationKind::kRead};
                   },
                   [](Selector& s) { s.operations = {OperationKind::kSend}; },
                   /*always_known=*/true},
        FilterCase{"Size",
                   [](Selector& s) {
                     s.size = SizeRange{4096, 4096};
                   },
                   [](Selector& s) {
                     s.size = SizeRange{4097, 9000};
                   }},
        FilterCase{"SizeEnd",
                   [](Selector& s) {
                     s.size = SizeRange{0, 4096};
                   },
                   [](Selector& s) {
                     s.size = SizeRange{0, 4095};
                   }},
        FilterCase{"Immediate",
                   [](Selector& s) {
                     s.immediate = ImmediateMatch{0xff0, 0x120};
                   },
                   [](Selector& s) {
                     s.immediate = ImmediateMatch{0xff0, 0x130};
                   }},
        FilterCase{"Direction", [](Selector& s) { s.direction = Direction::kInitiator; },
                   [](Selector& s) { s.direction = Direction::kTarget; },
                   /*always_known=*/true},
        FilterCase{"AllTogether",
                   [](Selector& s) {
                     s.peers = {3};
                     s.keys = {77};
                     s.size = SizeRange{1, 5000};
                   },
                   [](Selector& s) {
                     s.peers = {3};
                     s.keys = {77};
                     s.size = SizeRange{1, 5};
                   }}),
    [](const auto& row) { return std::string(row.param.name); });

// `nth` counts the events that the filter matched, from 1: here the second write to peer 1.
TEST(FilterAndScheduleTest, OnlyEligibleEventsAreCounted) {
  FaultRule rule = FaultRule::Of(Fault::kSendQueueFull);
  rule.when.peers = {1};
  rule.when.nth = 2;
  const auto engine = Make({rule});
  std::vector<int> fired;
  for (int i = 0; i < 12; ++i) {
    EventView view = Write();
    view.peer = static_cast<std::uint32_t>(i % 3);
    if (engine->Decide(kLayer, Point::kPost, view)) fired.push_back(i);
  }
  EXPECT_THAT(fired, ElementsAre(4));
  EXPECT_EQ(engine->Report()[0].eligible, 4u);
}

TEST(FilterAndScheduleTest, UnsignalledErrorAsksForNoContext) {
  const auto engine = Make({FaultRule::Of(Fault::kUnsignalledError)});
  EventView view = Write();
  EXPECT_FALSE(engine->Decide(kLayer, Point::kOutcome, view));
  view.signalled = false;
  EXPECT_TRUE(engine->Decide(kLayer, Point::kOutcome, view));
}

TEST(FilterAndScheduleTest, ImmediateFloodAsksForAnImmediate) {
  const auto engine = MakeForDevice({FaultRule::Of(Fault::kImmediateFlood)});
  EventView view = Write();
  EXPECT_TRUE(engine->Decide(Layer::kDevice, Point::kPacket, view));
  view.immediate.reset();
  EXPECT_FALSE(engine->Decide(Layer::kDevice, Point::kPacket, view));
  EXPECT_EQ(engine->Report()[0].eligible, 1u);
}

TEST(FilterAndScheduleTest, SizesAreEventsOfTheirOwnFaults) {
  const std::vector<std::pair<Fault, Capacity>> pairs = {
      {Fault::kSendQueueDepth, Capacity::kSendQueue},
      {Fault::kReceiveQueueDepth, Capacity::kReceiveQueue},
      {Fault::kInjectLimit, Capacity::kInject},
      {Fault::kCompletionQueueDepth, Capacity::kCompletionQueue}};
  for (const auto& [fault, own] : pairs) {
    const auto engine = MakeForDevice({FaultRule::Of(fault)});
    for (const auto& [other, capacity] : pairs) {
      EventView view;
      view.capacity = capacity;
      EXPECT_EQ(static_cast<bool>(engine->Decide(Layer::kDevice, Point::kCapacity, view)),
                capacity == own)
          << Describe(fault).name << ", " << Describe(other).name;
    }
  }
}

TEST(FilterAndScheduleTest, DeviceIsNamedWithItsMachineOrAlone) {
  EventView view = Write();
  view.nic = "server/nic0";
  for (const auto& [name, matches] :
       std::vector<std::pair<std::string, bool>>{{"server/nic0", true},
                                                 {"nic0", true},
                                                 {"server", false},
                                                 {"client/nic0", false},
                                                 {"/nic0", false}}) {
    FaultRule rule = WriteRule();
    rule.when.nics = {name};
    EXPECT_EQ(!Fires(*Make({rule}), 1, view).empty(), matches) << name;
  }
}

// ---- Independence ----

std::vector<int> FiresAmong(std::vector<FaultRule> rules, const std::string& name,
                            std::uint64_t seed = 1) {
  const auto engine = Make(std::move(rules), seed);
  std::vector<int> fired;
  for (int i = 1; i <= 200; ++i) {
    const Firing firing = engine->Decide(kLayer, Point::kPost, Write());
    if (firing && firing.rule->name == name) fired.push_back(i);
  }
  return fired;
}

TEST(IndependenceTest, OtherRulesChangeNothing) {
  FaultRule rule = WriteRule("mine");
  rule.when.probability = 0.1;
  FaultRule never = WriteRule("never");
  never.when.probability = 0.5;
  never.when.peers = {99};
  FaultRule elsewhere = FaultRule::Of(Fault::kRemoteAbort);
  elsewhere.when.probability = 0.5;
  const std::vector<int> alone = FiresAmong({rule}, "mine");
  EXPECT_THAT(alone, Not(IsEmpty()));
  EXPECT_EQ(FiresAmong({rule, never}, "mine"), alone);
  EXPECT_EQ(FiresAmong({never, elsewhere, rule}, "mine"), alone);
  FaultRule often = WriteRule("often");
  often.when.probability = 0.5;
  EXPECT_EQ(FiresAmong({rule, often}, "mine"), alone);  // it comes first
}

TEST(IndependenceTest, SeedAndNameAreTheKey) {
  FaultRule rule = WriteRule("mine");
  rule.when.probability = 0.1;
  FaultRule renamed = rule;
  renamed.name = "yours";
  EXPECT_EQ(FiresAmong({rule}, "mine", 7), FiresAmong({rule}, "mine", 7));
  EXPECT_NE(FiresAmong({rule}, "mine", 7), FiresAmong({rule}, "mine", 8));
  EXPECT_NE(FiresAmong({rule}, "mine"), FiresAmong({renamed}, "yours"));
}

TEST(IndependenceTest, ForeseeingIsNoEvent) {
  FaultRule rule = WriteRule("mine");
  rule.when.probability = 0.3;
  const auto engine = Make({rule}), other = Make({rule});
  for (int i = 0; i < 100; ++i) {
    const bool foreseen = static_cast<bool>(engine->Foresee(kLayer, Point::kPost, Write()));
    EXPECT_EQ(foreseen, static_cast<bool>(engine->Foresee(kLayer, Point::kPost, Write())));
    const Firing firing = engine->Decide(kLayer, Point::kPost, Write());
    EXPECT_EQ(foreseen, static_cast<bool>(firing));
    EXPECT_EQ(firing.word, other->Decide(kLayer, Point::kPost, Write()).word);
  }
}

TEST(IndependenceTest, JitterIsWithinItsBounds) {
  FaultRule rule = FaultRule::Of(Fault::kDelayedCompletion);
  rule.parameters.delay = 10us;
  rule.parameters.jitter = 5us;
  const auto engine = Make({rule});
  coro::Duration least = 1h, most{};
  for (int i = 0; i < 1000; ++i) {
    const coro::Duration delay = engine->Decide(kLayer, Point::kTiming, Write()).Delay();
    least = std::min(least, delay);
    most = std::max(most, delay);
  }
  EXPECT_GE(least, 10us);
  EXPECT_LE(most, 15us);
  EXPECT_GT(most - least, 4us);
}

// ---- Accounting ----

TEST(VerifyTest, RuleThatNeverFiredIsAnErrorWithItsCounts) {
  FaultRule rule = WriteRule("storm");
  rule.when.nth = 50;
  const auto engine = Make({rule});
  Fires(*engine, 12);
  EXPECT_THAT(engine->Verify(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "rule 1 (storm), send_queue_full, never fired: 0 of 12 eligible events, "
                       "expected at least 1"));
}

TEST(VerifyTest, ExpectationsAreHeldTo) {
  FaultRule rule = WriteRule("storm");
  rule.expect_fired = {.min = 2, .max = 4};
  const auto engine = Make({rule});
  Fires(*engine, 1);
  EXPECT_THAT(engine->Verify(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("fired 1 of 1 eligible events, expected 2 to 4")));
  Fires(*engine, 3);
  EXPECT_THAT(engine->Verify(), IsOk());
  Fires(*engine, 1);
  EXPECT_THAT(engine->Verify(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("fired 5 of 5")));
}

TEST(VerifyTest, ZeroExpectedIsNoError) {
  FaultRule rule = WriteRule();
  rule.expect_fired = {.min = 0};
  EXPECT_THAT(Make({rule})->Verify(), IsOk());
}

TEST(VerifyTest, RuleInAnothersShadowSaysSo) {
  const auto engine = Make({WriteRule("first"), WriteRule("second")});
  EXPECT_EQ(engine->Decide(kLayer, Point::kPost, Write()).rule->name, "first");
  EXPECT_EQ(engine->Report()[1].eligible, 1u);
  EXPECT_EQ(engine->Report()[1].shadowed, 1u);
  EXPECT_THAT(
      engine->Verify(),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               HasSubstr("rule 2 (second), send_queue_full, never fired: 0 of 1 eligible "
                         "events, expected at least 1 (on 1 more a rule before it acted)")));
}

TEST(VerifyTest, HealedPlanFiresNoMore) {
  const auto engine = Make({WriteRule()});
  EXPECT_THAT(Fires(*engine, 2), SizeIs(2));
  engine->Heal();
  EXPECT_THAT(Fires(*engine, 2), IsEmpty());
  EXPECT_EQ(engine->Report()[0].eligible, 2u);
  EXPECT_THAT(engine->Verify(), IsOk());
}

// ---- Layers ----

TEST(LayerTest, RuleThatNobodyAppliesIsRefused) {
  FaultPlan plan;
  plan.rules = {FaultRule::Of(Fault::kPacketLoss, "lossy")};
  EXPECT_THAT(FaultEngine::Create(plan, 1, {.decorator = FaultsOf(Layer::kDecorator)}).status(),
              StatusIs(absl::StatusCode::kUnimplemented,
                       "rule 1 (lossy): packet_loss is applied inside the simulated NIC, which "
                       "this run does not have"));
}

TEST(LayerTest, DeviceIsPreferred) {
  const auto engine =
      FaultEngine::Create(
          {.mode = Legality::kAdversarial, .rules = {WriteRule()}}, 1,
          {.device = FaultsOf(Layer::kDevice), .decorator = FaultsOf(Layer::kDecorator)})
          .value();
  EXPECT_FALSE(engine->Concerns(Layer::kDecorator, Point::kPost));
  EXPECT_FALSE(engine->Decide(Layer::kDecorator, Point::kPost, Write()));
  EXPECT_TRUE(engine->Decide(Layer::kDevice, Point::kPost, Write()));
}

TEST(LayerTest, WhatNoRuleConcernsNeedsNoQuestion) {
  const auto engine = Make({WriteRule()});
  EXPECT_TRUE(engine->Concerns(kLayer, Point::kPost, OperationKind::kWrite));
  EXPECT_FALSE(engine->Concerns(kLayer, Point::kPost, OperationKind::kRead));
  EXPECT_FALSE(engine->Concerns(kLayer, Point::kOutcome));
}

TEST(LayerTest, InvalidPlanIsRefused) {
  FaultRule rule = WriteRule();
  rule.when.every = 0;
  EXPECT_THAT(FaultEngine::Create({.mode = Legality::kAdversarial, .rules = {rule}}, 1,
                                  {.decorator = FaultsOf(kLayer)})
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("when.every is 0")));
}

// ---- Firings, one by one ----

class Listener final : public FiringListener {
 public:
  void OnFired(const FiringId& id, const EventView& view, const Firing& firing) override {
    ids.push_back(id);
    words.push_back(firing.word);
    EXPECT_EQ(view.size_bytes, 4096u);
  }

  std::vector<FiringId> ids;
  std::vector<std::uint64_t> words;
};

std::vector<FaultRule> TwoRules() {
  std::vector<FaultRule> rules = {WriteRule("rare"), WriteRule("often")};
  rules[0].when.every = 5;
  rules[1].when.probability = 0.5;
  return rules;
}

TEST(RestrictedTest, ListOfAllFiringsGivesTheSameRun) {
  const auto engine = Make(TwoRules());
  Listener all;
  engine->set_listener(&all);
  const std::vector<int> fired = Fires(*engine, 40);
  ASSERT_EQ(all.ids.size(), fired.size());
  EXPECT_EQ(std::count_if(all.ids.begin(), all.ids.end(), [](auto id) { return id.rule == 0; }), 8);

  const auto again = Make(TwoRules());
  std::vector<FiringId> sorted = all.ids;
  std::sort(sorted.begin(), sorted.end());
  again->Restrict(sorted);
  Listener same;
  again->set_listener(&same);
  EXPECT_EQ(Fires(*again, 40), fired);
  EXPECT_EQ(same.ids, all.ids);
  EXPECT_EQ(same.words, all.words);  // what the faults draw, too
}

TEST(RestrictedTest, OnlyTheListedEventsFireAndAllCount) {
  const auto engine = Make(TwoRules());
  const std::vector<FiringId> list = {{0, 7}, {1, 3}, {1, 50}};
  engine->Restrict(list);
  EXPECT_FALSE(engine->Foresee(kLayer, Point::kPost, Write()));
  EXPECT_THAT(Fires(*engine, 40), ElementsAre(3, 7));
  EXPECT_EQ(engine->Report()[0].eligible, 40u);
  EXPECT_EQ(engine->Report()[0].fired, 1u);
  EXPECT_EQ(engine->Report()[1].fired, 1u);
  EXPECT_THAT(Fires(*engine, 9), IsEmpty());
  EXPECT_TRUE(engine->Foresee(kLayer, Point::kPost, Write()));  // the fiftieth comes next
}

TEST(RestrictedTest, AListCountsOnOverTheEnginesOfOneRun) {
  const std::vector<FiringId> list = {{0, 47}, {1, 3}, {1, 50}};
  const auto second = Make(TwoRules());
  second->Restrict(list, std::vector<std::uint64_t>{40, 45});
  Listener heard;
  second->set_listener(&heard);
  EXPECT_THAT(Fires(*second, 40), ElementsAre(5, 7));
  EXPECT_THAT(heard.ids, ElementsAre(FiringId{1, 5}, FiringId{0, 7})) << "as the engine counts";
}

TEST(RestrictedTest, EmptyListIsARunWithoutFaults) {
  const auto engine = Make({WriteRule()});
  engine->Restrict({});
  EXPECT_THAT(Fires(*engine, 10), IsEmpty());
  EXPECT_EQ(engine->Report()[0].eligible, 10u);
}

class HandClock final : public coro::Clock {
 public:
  coro::Time Now() const override { return now; }
  bool WaitUntil(coro::Time) override { return false; }
  bool IsVirtual() const override { return true; }

  coro::Time now{};
};

TEST(HealTest, NothingFiresFromATimeOn) {
  HandClock clock;
  const auto engine = Make({WriteRule()});
  engine->HealAt(clock, coro::Time(5us));
  clock.now = coro::Time(4999ns);
  EXPECT_THAT(Fires(*engine, 2), ElementsAre(1, 2));
  clock.now = coro::Time(5us);
  EXPECT_FALSE(engine->Foresee(kLayer, Point::kPost, Write()));
  EXPECT_THAT(Fires(*engine, 2), IsEmpty());
  EXPECT_EQ(engine->Report()[0].eligible, 2u);
}

}  // namespace
}  // namespace drydock::fabric::faults
