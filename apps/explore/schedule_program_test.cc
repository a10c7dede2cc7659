// The program with its strategies, and what it says about coverage.

#include <string>
#include <vector>

#include "drydock/apps/explore/testing/explore_program.h"
#include "drydock/testing/harness/subprocess.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace drydock::apps {
namespace {

using harness::ProcessEnd;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

TEST(ExploreStrategyTest, EveryStrategyFindsTheProtocolThatIsWrongAndItsReplayShowsTheSame) {
  for (const char* strategy : {"walk", "pct:3", "starve"}) {
    const ProcessEnd found = RunExplore({"--scenario=write-last", "--faults=none", "--seeds=20",
                                         "--json", std::string("--strategy=") + strategy});
    ASSERT_EQ(found.exit_code, 1) << found;
    const auto report = nlohmann::json::parse(found.out);
    const std::string name = report["strategy"];
    EXPECT_THAT(name, StartsWith(strategy));
    const auto failure = report["failures"][0];
    EXPECT_EQ(failure["verdict"], "wrong-data");
    EXPECT_THAT(failure["replay"].get<std::string>(),
                HasSubstr(" --strategy=" + name + " --seed="));
    const std::string seed = std::to_string(failure["seed"].get<std::uint64_t>());
    const ProcessEnd again = RunExplore({"--scenario=write-last", "--faults=none", "--json",
                                         "--strategy=" + name, "--seed=" + seed});
    EXPECT_EQ(again.exit_code, 1) << again;
    const auto replayed = nlohmann::json::parse(again.out);
    for (const char* key : {"verdict", "text", "digest", "events"}) {
      EXPECT_EQ(replayed[key], failure[key]) << key;
    }
  }
}

// What is calm keeps its order, so that an operation that is out of it is named.
TEST(ExploreStrategyTest, ShrunkRunNamesTheOperationThatIsOutOfOrder) {
  const std::string capsule = ::testing::TempDir() + "out_of_order.capsule";
  for (const std::string strategy : {"walk", "starve"}) {
    const ProcessEnd run = RunExplore({"--scenario=write-last", "--faults=none", "--seed=2",
                                       "--strategy=" + strategy, "--out=" + capsule});
    ASSERT_EQ(run.exit_code, 1) << run;
    const ProcessEnd shrunk = RunExplore({"--shrink=" + capsule});
    EXPECT_EQ(shrunk.exit_code, 0) << shrunk;
    EXPECT_THAT(shrunk.out, AllOf(HasSubstr(", strategy " + strategy + ": "),
                                  HasSubstr(", which was posted before it, "),
                                  HasSubstr("the strategy delays them, and leaves them in order"),
                                  Not(HasSubstr("the least delay"))));
  }
}

TEST(ExploreStrategyTest, ShrunkRunNamesItsFigures) {
  const std::string capsule = ::testing::TempDir() + "figures.capsule";
  ASSERT_EQ(RunExplore({"--scenario=failover", "--faults=none", "--seed=1", "--out=" + capsule,
                        "--figures=unresponsive_timeout=4s"})
                .exit_code,
            1);
  EXPECT_THAT(RunExplore({"--shrink=" + capsule}).out,
              HasSubstr("failover with seed 1, unresponsive_timeout=4s: 2 operations"));
}

TEST(ExploreStrategyTest, StepsAreThoseOfTheRunThatIsAskedFor) {
  const auto strategy = [](const std::string& parameters) -> std::string {
    const ProcessEnd end = RunExplore({"--scenario=ping-pong", "--faults=none", "--seeds=1",
                                       "--json", "--strategy=pct:3", "--parameters=" + parameters});
    return nlohmann::json::parse(end.out)["strategy"];
  };
  EXPECT_NE(strategy("rounds=1"), strategy("rounds=9"));
}

TEST(ExploreStrategyTest, ExhaustiveNamesTheOrderThatFails) {
  const std::string folder = ::testing::TempDir() + "orders";
  const ProcessEnd found =
      RunExplore({"--scenario=write-last", "--faults=none", "--json", "--strategy=exhaustive",
                  "--max-runs=60", "--seed=4", "--capsules=" + folder});
  ASSERT_EQ(found.exit_code, 1) << found;
  const auto report = nlohmann::json::parse(found.out);
  EXPECT_EQ(report["seed"], 4);
  EXPECT_EQ(report["runs"], 60);
  EXPECT_EQ(report["complete"], false);
  const std::string order = report["failures"][0]["order"];
  EXPECT_THAT(order, StartsWith("order:"));
  const ProcessEnd again = RunExplore(
      {"--scenario=write-last", "--faults=none", "--json", "--strategy=" + order, "--seed=4"});
  EXPECT_EQ(again.exit_code, 1) << again;
  EXPECT_EQ(nlohmann::json::parse(again.out)["digest"], report["failures"][0]["digest"]);
  const std::string capsule = report["failures"][0]["capsule"];
  EXPECT_THAT(capsule, StartsWith(folder + "/write-last-4-order-"));
  EXPECT_EQ(RunExplore({"--replay=" + capsule}).LastLine(), "replayed bit for bit");
}

TEST(ExploreStrategyTest, SmallProgramIsExhausted) {
  const ProcessEnd end =
      RunExplore({"--scenario=ping-pong", "--faults=none", "--strategy=exhaustive"});
  EXPECT_EQ(end.exit_code, 0) << end;
  EXPECT_THAT(
      end.LastLine(),
      MatchesRegex(".* orders of seed 1 in .* runs, .* s, and there are no more: 0 failed"));
}

TEST(ExploreCoverageTest, TablesShowWhatTheSeedsSaw) {
  const ProcessEnd seen = RunExplore({"--seeds=50"});
  EXPECT_EQ(seen.exit_code, 0) << seen;
  EXPECT_THAT(seen.out, AllOf(HasSubstr("operation "), HasSubstr("write "), HasSubstr("server/")));
  EXPECT_THAT(seen.out, Not(HasSubstr("feature_mismatch  -")));
  const ProcessEnd all = RunExplore({"--seeds=20", "--coverage=all"});
  EXPECT_THAT(all.out, HasSubstr("local_queue_pair"));
  const ProcessEnd none = RunExplore({"--seeds=20", "--coverage=none"});
  EXPECT_THAT(none.out, Not(HasSubstr("server/rdmap")));
  const auto json = nlohmann::json::parse(RunExplore({"--seeds=20", "--json"}).out);
  EXPECT_GT(json["coverage"]["cells"].size(), 3u);
}

TEST(ExploreCoverageTest, WhatWasNotCoveredFailsByName) {
  const std::string fine = WriteText("fine.txt", "cell write ok server/*\n");
  EXPECT_EQ(RunExplore({"--seeds=10", "--require-covered=" + fine}).exit_code, 0);
  const std::string file =
      WriteText("much.txt", "cell write ok *\nsometimes \"the moon is full\"\ncell read ok *\n");
  for (const std::vector<std::string>& which :
       {std::vector<std::string>{"--seeds=10"},
        {"--seed=3"},
        {"--strategy=exhaustive", "--max-runs=3", "--faults=none"}}) {
    std::vector<std::string> arguments = which;
    arguments.push_back("--require-covered=" + file);
    const ProcessEnd end = RunExplore(arguments);
    EXPECT_EQ(end.exit_code, 1) << end;
    EXPECT_THAT(Lines(end.err),
                ElementsAre(AllOf(StartsWith("explore: not covered of "),
                                  HasSubstr("sometimes \"the moon is full\", cell read ok *"))));
  }
}

TEST(ExploreCoverageTest, UntilCoveredStopsEarlyOrSaysWhatIsMissing) {
  const ProcessEnd late =
      RunExplore({"--scenario=barrier", "--faults=none", "--seeds=60", "--until=covered:25"});
  EXPECT_EQ(late.exit_code, 0) << late;
  EXPECT_EQ(late.LastLine(),
            "not covered with 60 seeds: never held: classic: a machine could not be opened, "
            "classic: the program gave up");
  const ProcessEnd one =
      RunExplore({"--scenario=barrier", "--faults=none", "--seeds=1", "--until=covered:1"});
  EXPECT_THAT(one.LastLine(), HasSubstr("not covered with 1 seed: never held: "));
  const ProcessEnd swarm = RunExplore({"--scenario=barrier", "--seeds=5000", "--until=covered:25"});
  EXPECT_EQ(swarm.LastLine(), "covered: the last 25 seeds showed nothing new");
}

class RequirementFileTest : public ::testing::TestWithParam<const char*> {};

// The files that come with the scenarios: some hundred seeds see all that they ask for.
TEST_P(RequirementFileTest, IsCoveredByTheSwarm) {
  const std::string name = GetParam();
  const ProcessEnd end = RunExplore({"--scenario=" + name, "--seeds=300", "--twice-every=0",
                                     "--require-covered=apps/explore/coverage/" + name + ".txt"});
  EXPECT_EQ(end.exit_code, 0) << end;
}

INSTANTIATE_TEST_SUITE_P(All, RequirementFileTest,
                         ::testing::Values("write", "ping-pong", "barrier", "credit-flow",
                                           "all-to-all", "try-again"),
                         [](const auto& test) {
                           std::string name(test.param);
                           for (char& letter : name) letter = letter == '-' ? '_' : letter;
                           return name;
                         });

TEST(ExploreStrategyTest, BadInputIsOneLineAndTwo) {
  ExpectRefused(
      {{{"--strategy=dance"}, "strategy 'dance': there are random, walk, pct:DEPTH, starve"},
       {{"--strategy=pct:99"}, "with a depth from 1 to 10"},
       {{"--strategy=exhaustive", "--max-runs=0"}, "--max-runs=0"},
       {{"--no-reduction"}, "--no-reduction is for --strategy=exhaustive, not for random"},
       {{"--max-runs=5"}, "--max-runs is for --strategy=exhaustive, not for random"},
       {{"--strategy=exhaustive", "--seeds=5"}, "--seeds is for many seeds"},
       {{"--strategy=exhaustive:packets", "--seed=1", "--trace=t.json"}, "--trace is for one run"},
       {{"--until=tomorrow"}, "--until=tomorrow: it takes covered, or covered:N"},
       {{"--until=covered:0"}, "--until=covered:0: it takes covered"},
       {{"--coverage=some"}, "--coverage=some: it takes seen, all or none"},
       {{"--require-covered=/nowhere.txt"}, "--require-covered=/nowhere.txt: no such file"},
       {{"--require-covered=" + WriteText("bad.txt", "reachable \"x\"\ncell write\n")},
        "bad.txt:2: a cell has three words"}});
}

}  // namespace
}  // namespace drydock::apps
