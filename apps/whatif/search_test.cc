// The search finds by itself what was published of EFA machines, and nothing where nothing is.

#include "drydock/apps/whatif/search.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/apps/whatif/cliff_report.h"
#include "drydock/apps/whatif/confirm.h"
#include "drydock/apps/whatif/question.h"
#include "drydock/apps/whatif/space.h"
#include "drydock/sim/model/predictor.h"
#include "drydock/sim/model/workload.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::apps::whatif {
namespace {

using namespace std::chrono_literals;
using ::drydock::testing_matchers::IsOk;
using ::drydock::testing_matchers::StatusIs;
using sim::Profile;
using sim::model::Limiter;
using sim::model::Workload;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using Words = std::map<std::string, std::string>;  // of dimensions

// All of a machine, as the program asks when no flag is given.
Space Whole(const Profile& profile) {
  Workload load;
  load.nics = profile.nics.size();
  load.gpus = load.threads = GpusOf(profile, load.nics);
  return Space::Around(profile, load);
}

const Profile& Named(const char* name) { return **sim::FindProfile(name); }

Found FoundIn(const Space& space, std::uint64_t seed = 1, std::uint64_t budget = 6000) {
  const absl::StatusOr<Found> found = Search(space, {.seed = seed, .budget = budget}).Run();
  EXPECT_THAT(found, IsOk());
  return found.value_or(Found{});
}

// What a cliff has, and the plain workload has not.
Words Differences(const Space& space, const Point& point) {
  Words words;
  for (std::size_t i = 0; i < point.size(); ++i) {
    const Dimension& dimension = space.dimensions()[i];
    if (point[i] != dimension.plain) words[dimension.name] = dimension.values[point[i]].label;
  }
  return words;
}

// The labels of a feature's values; none: the cliff does not need it.
std::vector<std::string> Values(const Space& space, const Cliff& cliff, const std::string& name) {
  std::vector<std::string> labels;
  for (const Feature& feature : cliff.features) {
    const Dimension& dimension = space.dimensions()[feature.dimension];
    if (dimension.name != name) continue;
    for (const std::size_t value : feature.values) labels.push_back(dimension.values[value].label);
  }
  return labels;
}

// The cliff of this limiter that differs from the plain workload at least in these words.
const Cliff* Find(const Space& space, const Found& found, Measure measure, Limiter limiter,
                  const Words& words) {
  for (const Cliff& cliff : found.cliffs) {
    const Words differences = Differences(space, cliff.point);
    if (cliff.measure == measure && cliff.limiter == limiter &&
        std::includes(differences.begin(), differences.end(), words.begin(), words.end())) {
      return &cliff;
    }
  }
  return nullptr;
}

std::string All(const Space& space, const Found& found) {
  std::string text;
  for (const Cliff& cliff : found.cliffs) {
    text += std::string(Name(cliff.limiter)) + ": " + FeaturesOf(space, cliff) + "\n";
  }
  return text;
}

// A search of everything takes a while: each test that wants it looks at the same one.
class P5SearchTest : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  static const Space& space() {
    static const auto& space = *new Space(Whole(Named("p5")));
    return space;
  }
  const Found& found() const {
    static auto& searches = *new std::map<std::uint64_t, Found>();
    const auto [search, is_new] = searches.try_emplace(GetParam());
    if (is_new) search->second = FoundIn(space(), GetParam(), SearchOptions{}.budget);
    return search->second;
  }
  const Cliff* Find(Measure measure, Limiter limiter, const Words& words) const {
    const Cliff* cliff = whatif::Find(space(), found(), measure, limiter, words);
    EXPECT_NE(cliff, nullptr) << All(space(), found());
    return cliff;
  }
};

// Mooncake, capped to one poller: 64 KiB pages reach a third of the links, 1 MiB pages all of them.
TEST_P(P5SearchTest, OnePollerIsTheCeilingOf64KiB) {
  const Cliff* cliff = Find(Measure::kRate, Limiter::kPollRate, {{"pollers", "1"}});
  ASSERT_NE(cliff, nullptr);
  EXPECT_THAT(Differences(space(), cliff->point), SizeIs(1));
  EXPECT_THAT(Values(space(), *cliff, "page"), Contains("64 KiB"));
  EXPECT_THAT(Values(space(), *cliff, "page"), Not(Contains("1 MiB")));
  EXPECT_THAT(Values(space(), *cliff, "NICs"), ElementsAre("16", "32"));
  EXPECT_LT(cliff->here.share, 0.3);
  EXPECT_GT(cliff->there.share, 0.95);
}

TEST_P(P5SearchTest, RailsThatAreCrossedAreSlow) {
  const Cliff* cliff = Find(Measure::kRate, Limiter::kRoute, {{"route", "crossing"}});
  ASSERT_NE(cliff, nullptr);
  EXPECT_EQ(FeaturesOf(space(), *cliff), "route crossing");
  EXPECT_NEAR(cliff->here.gbps / cliff->there.gbps, 0.41, 0.01);
}

TEST_P(P5SearchTest, ThreadsFarFromTheirNicsAreSlow) {
  const Cliff* far = Find(Measure::kRate, Limiter::kNuma, {{"placement", "far"}});
  ASSERT_NE(far, nullptr);
  // A program of one's own hides it, and so do bursts.
  EXPECT_THAT(Values(space(), *far, "loop"), ElementsAre("bare"));
  EXPECT_THAT(Values(space(), *far, "burst"), ElementsAre("1"));
  const Cliff* roaming = Find(Measure::kRate, Limiter::kNuma, {{"placement", "nowhere"}});
  ASSERT_NE(roaming, nullptr);
}

TEST_P(P5SearchTest, TooLittleUnderWayIsSlow) {
  const Cliff* cliff = Find(Measure::kRate, Limiter::kWindow, {{"window", "1"}});
  ASSERT_NE(cliff, nullptr);
  EXPECT_THAT(Values(space(), *cliff, "window"), ElementsAre("1", "2", "4"));
  EXPECT_THAT(Values(space(), *cliff, "page"), Not(Contains("4 MiB")));
}

TEST_P(P5SearchTest, FirstContactIsSlow) {
  const Cliff* latency = Find(Measure::kLatency, Limiter::kFirstContact, {{"contact", "cold"}});
  ASSERT_NE(latency, nullptr);
  EXPECT_EQ(FeaturesOf(space(), *latency), "contact cold");
  EXPECT_GT(latency->here.latency, 500 * latency->there.latency);
  const Cliff* rate = Find(Measure::kRate, Limiter::kFirstContact, {{"contact", "cold"}});
  ASSERT_NE(rate, nullptr);
  EXPECT_THAT(Values(space(), *rate, "pages"), Contains("10000"));
}

// Wherever one feature has a value that the report does not name, the cliff is gone; and whatever
// differs from the plain workload is needed.
TEST_P(P5SearchTest, EachFeatureIsNeeded) {
  Search search(space(), {.seed = GetParam()});
  for (const Cliff& cliff : found().cliffs) {
    const std::string name = FeaturesOf(space(), cliff);
    EXPECT_TRUE(search.IsThere(cliff, cliff.point)) << name;
    EXPECT_THAT(cliff.features, Not(IsEmpty())) << name;
    std::size_t differences = 0;
    for (const Feature& feature : cliff.features) {
      const Dimension& dimension = space().dimensions()[feature.dimension];
      EXPECT_LT(feature.values.size(), dimension.values.size()) << name << ": " << dimension.name;
      differences += cliff.point[feature.dimension] != dimension.plain ? 1 : 0;
      for (std::size_t value = 0; value < dimension.values.size(); ++value) {
        Point other = cliff.point;
        other[feature.dimension] = value;
        const bool is_named =
            std::find(feature.values.begin(), feature.values.end(), value) != feature.values.end();
        EXPECT_EQ(search.IsThere(cliff, other), is_named)
            << name << ": " << dimension.name << " " << dimension.values[value].label;
      }
    }
    EXPECT_EQ(differences, Differences(space(), cliff.point).size()) << name;
  }
}

TEST_P(P5SearchTest, EachCliffIsAsDeepAsAsked) {
  const SearchOptions options;
  for (const Cliff& cliff : found().cliffs) {
    EXPECT_LE(cliff.here.value(cliff.measure),
              options.Enough(cliff.measure) * cliff.there.value(cliff.measure))
        << FeaturesOf(space(), cliff);
    Point back = cliff.neighbour;
    back[cliff.along] = cliff.point[cliff.along];
    EXPECT_EQ(back, cliff.point);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, P5SearchTest, ::testing::Values(1, 2));

// What a NIC of p5en takes in is the ceiling of the whole machine; where fewer NICs receive, it is a
// cliff.
TEST(SearchTest, TheReceiveSideIsTheCeilingOfP5en) {
  const std::vector<std::string> dimensions = {"page", "window", "NICs", "receivers", "peers"};
  const auto ceiling = [&](const Profile& profile) {
    return FoundIn(*Whole(profile).Varying(dimensions), 1, 500).highest;
  };
  const Space space = *Whole(Named("p5en")).Varying(dimensions);
  const Found found = FoundIn(space);
  EXPECT_EQ(found.highest.limiter, Limiter::kReceiveSide);
  EXPECT_NEAR(found.highest.of_links, 0.905, 0.005);
  const Cliff* fewer =
      Find(space, found, Measure::kRate, Limiter::kReceiveSide, {{"receivers", "1"}});
  ASSERT_NE(fewer, nullptr) << All(space, found);
  EXPECT_THAT(Values(space, *fewer, "receivers"), Not(Contains("all")));
  Profile takes_all = Named("p5en");
  takes_all.receive_gbps = 0;
  EXPECT_EQ(ceiling(takes_all).limiter, Limiter::kWire);
  EXPECT_EQ(ceiling(Named("p5")).limiter, Limiter::kWire);
}

// A model that lacks an effect has no cliff of it.
TEST(SearchTest, WithoutTheEffectThereIsNoCliff) {
  const struct {
    const char* name;
    std::vector<std::string> dimensions;
    Measure measure;
    Limiter limiter;
    std::function<void(Profile&)> lift;
  } cases[] = {
      {"rails",
       {"page", "route"},
       Measure::kRate,
       Limiter::kRoute,
       [](Profile& p) { p.crossing_gbps = p.loopback_gbps = 0; }},
      {"poller",
       {"page", "pollers"},
       Measure::kRate,
       Limiter::kPollRate,
       [](Profile& p) {
         p.host.turn = p.host.progress = 0ns;
         p.poll_cost = 1ns;
       }},
      {"far threads",
       {"page", "burst", "loop", "placement"},
       Measure::kRate,
       Limiter::kNuma,
       [](Profile& p) {
         p.numa_crossing = 0ns;
         p.host.wandering = 1;
       }},
      {"window",
       {"window"},
       Measure::kRate,
       Limiter::kWindow,
       [](Profile& p) {
         p.one_way = {};
         p.path_spread = p.ack_delay = p.dma_latency = 0ns;
         p.host = {};
       }},
      {"first contact",
       {"pages", "contact"},
       Measure::kRate,
       Limiter::kFirstContact,
       [](Profile& p) { p.host.first_contact = 0ns; }},
      {"first page",
       {"contact"},
       Measure::kLatency,
       Limiter::kFirstContact,
       [](Profile& p) { p.host.first_contact = 0ns; }},
  };
  for (const auto& c : cases) {
    Profile profile = Named("p5");
    const Space space = *Whole(profile).Varying(c.dimensions);
    const Found found = FoundIn(space);
    EXPECT_NE(Find(space, found, c.measure, c.limiter, {}), nullptr) << c.name << All(space, found);
    c.lift(profile);  // which the space looks at
    const Found lifted = FoundIn(space);
    EXPECT_EQ(Find(space, lifted, c.measure, c.limiter, {}), nullptr) << c.name << ":\n"
                                                                      << All(space, lifted);
  }
}

TEST(SearchTest, WhereAllIsFlatNothingIsFound) {
  const Space space = Whole(Named("p5"))
                          .Varying({"page", "window", "burst", "peers", "op"})
                          ->Restricted("page", {"256 KiB", "1 MiB", "4 MiB"})
                          .Restricted("window", {"128", "256"})
                          .Restricted("burst", {"64"});
  const Found found = FoundIn(space);
  EXPECT_THAT(All(space, found), IsEmpty());
  EXPECT_GT(found.predicted, 20u);
}

TEST(SearchTest, TheSameSeedFindsTheSame) {
  const Space space =
      *Whole(Named("p5")).Varying({"page", "burst", "loop", "placement", "threads", "policy"});
  const auto text = [&](std::uint64_t seed) {
    CliffReport report{.space = space, .plain = "", .seed = 1, .depth = 0.25, .times = 3};
    report.found = FoundIn(space, seed, 2000);
    return Render(report, OutputForm::kJson);
  };
  EXPECT_EQ(text(1), text(1));
  EXPECT_NE(text(1), text(2));  // so many workloads were predicted, at least
}

TEST(SearchTest, TheBudgetIsKept) {
  const Space space = Whole(Named("p5"));
  std::uint64_t last = 0;
  const SearchOptions options{.budget = 500, .progress = [&](std::uint64_t done) {
                                EXPECT_EQ(done, last + 1);
                                last = done;
                              }};
  const absl::StatusOr<Found> found = Search(space, options).Run();
  ASSERT_THAT(found, IsOk());
  EXPECT_EQ(found->predicted, last);
  EXPECT_LT(found->predicted, 1000u);  // what has begun is ended
}

TEST(SearchTest, WhatTheMachineCannotDoIsAnError) {
  Workload load;
  EXPECT_EQ(Search(Space::Around(Named("p4d"), load), {}).Run().status().code(),
            absl::StatusCode::kUnimplemented);
}

// ---- On the simulator ----

class ConfirmTest : public ::testing::Test {
 protected:
  // Of the first cliff of this limiter when only these dimensions vary.
  Confirmation Of(const Profile& profile, const std::vector<std::string>& dimensions,
                  Limiter limiter, const Words& words, Measure measure = Measure::kRate) {
    Workload load;
    load.nics = 4;
    load.gpus = load.threads = 1;
    const Space space = *Space::Around(profile, load).Varying(dimensions);
    const Found found = FoundIn(space);
    const Cliff* cliff = Find(space, found, measure, limiter, words);
    if (cliff == nullptr) {
      ADD_FAILURE() << All(space, found);
      return {};
    }
    const absl::StatusOr<Confirmation> confirmation = Confirmer(space, {}).Confirm(*cliff);
    EXPECT_THAT(confirmation, IsOk());
    return confirmation.value_or(Confirmation{});
  }
};

TEST_F(ConfirmTest, TheSimulatorHasTheCliffsOfTheModel) {
  const Profile& p5 = Named("p5");
  EXPECT_EQ(Of(p5, {"route"}, Limiter::kRoute, {{"route", "crossing"}}).verdict,
            Verdict::kConfirmed);
  EXPECT_EQ(Of(p5, {"window"}, Limiter::kWindow, {{"window", "1"}}).verdict, Verdict::kConfirmed);
  EXPECT_EQ(Of(p5, {"page", "burst", "loop", "placement"}, Limiter::kNuma, {{"placement", "far"}})
                .verdict,
            Verdict::kConfirmed);
  EXPECT_EQ(Of(Named("p5en"), {"receivers"}, Limiter::kReceiveSide, {{"receivers", "1"}}).verdict,
            Verdict::kConfirmed);
  const Confirmation cold =
      Of(p5, {"contact"}, Limiter::kFirstContact, {{"contact", "cold"}}, Measure::kLatency);
  EXPECT_EQ(cold.verdict, Verdict::kConfirmed);
  EXPECT_GT(cold.here.latency, 4 * p5.host.first_contact);  // of four NICs, one after the other
}

TEST_F(ConfirmTest, WhatItDoesNotPlayIsModelOnly) {
  const Space space = *Whole(Named("p5")).Varying({"pollers"});
  const Found found = FoundIn(space);
  const Cliff* cliff = Find(space, found, Measure::kRate, Limiter::kPollRate, {{"pollers", "1"}});
  ASSERT_NE(cliff, nullptr);
  const absl::StatusOr<Confirmation> confirmation = Confirmer(space, {}).Confirm(*cliff);
  ASSERT_THAT(confirmation, IsOk());
  EXPECT_EQ(confirmation->verdict, Verdict::kModelOnly);
  EXPECT_THAT(confirmation->reason, HasSubstr("only reads completions"));
}

TEST_F(ConfirmTest, WhatIsNoCliffIsNotSeen) {
  Workload load;
  const Space space = *Space::Around(Named("p5"), load).Varying({"window"});
  Cliff cliff{.measure = Measure::kRate, .limiter = Limiter::kWindow, .point = space.plain()};
  cliff.neighbour = space.plain();
  const absl::StatusOr<Confirmation> confirmation = Confirmer(space, {}).Confirm(cliff);
  ASSERT_THAT(confirmation, IsOk());
  EXPECT_EQ(confirmation->verdict, Verdict::kNotSeen);
  EXPECT_NEAR(confirmation->here.gbps, 97.4, 1);
}

TEST_F(ConfirmTest, ANeighbourOfManyCliffsIsPlayedOnce) {
  Workload load;
  const Space space = *Space::Around(Named("p5"), load).Varying({"window"});
  Confirmer confirmer(space, {});
  Cliff cliff{.measure = Measure::kRate, .limiter = Limiter::kWindow, .point = space.plain()};
  cliff.neighbour = space.plain();
  for (cliff.point[0] = 0; cliff.point[0] < 3; ++cliff.point[0]) {
    ASSERT_THAT(confirmer.Confirm(cliff), IsOk());
  }
  EXPECT_EQ(confirmer.plays(), 4u);
}

// ---- The space ----

TEST(SpaceTest, ThePlainPointIsTheWorkloadOfTheFlags) {
  Workload load;
  load.nics = 12;
  load.gpus = 3;
  load.threads = 5;
  load.page_bytes = 100'000;
  load.window = 7;
  load.pollers = 3;
  load.pinned = false;
  load.operations = 42;
  const Space space = Space::Around(Named("p5"), load);
  const Workload plain = space.At(space.plain());
  EXPECT_EQ(plain.nics, 12u);
  EXPECT_EQ(plain.gpus, 3u);
  EXPECT_EQ(plain.threads, 5u);
  EXPECT_EQ(plain.page_bytes, 100'000u);
  EXPECT_EQ(plain.window, 7u);
  EXPECT_EQ(plain.pollers, 3u);
  EXPECT_FALSE(plain.pinned);
  EXPECT_EQ(plain.operations, 42u);
  for (std::size_t i = 0; i < space.dimensions().size(); ++i) {
    Point other = space.plain();
    for (other[i] = 0; other[i] < space.dimensions()[i].values.size(); ++other[i]) {
      EXPECT_THAT(sim::model::Check(space.profile(), space.At(other)), IsOk())
          << space.dimensions()[i].name << " " << space.dimensions()[i].values[other[i]].label;
    }
  }
}

TEST(SpaceTest, WhatDoesNotVaryIsRefused) {
  EXPECT_THAT(Whole(Named("p5")).Varying({"page", "colour"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("there are page, window")));
}

}  // namespace
}  // namespace drydock::apps::whatif
