// The program as a person or a script meets it: what it prints, how it ends, and what it refuses.

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
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

TEST(ExploreProgramTest, SeedsThatAreFineEndWithZero) {
  const ProcessEnd end = RunExplore({"--seeds=40", "--scenario=ping-pong", "--jobs=2"});
  EXPECT_EQ(end.exit_code, 0) << end;
  EXPECT_EQ(end.err, "");
  EXPECT_THAT(Lines(end.out).front(), MatchesRegex("verdict +seeds +first seed"));
  EXPECT_THAT(end.LastLine(), AllOf(StartsWith("40 seeds in "), HasSubstr(": 0 failed")));
}

TEST(ExploreProgramTest, ATraceOfASeedChangesNothing) {
  const std::string path = ::testing::TempDir() + "seed.json";
  const ProcessEnd plain = RunExplore({"--scenario=write-last", "--seed=4"});
  const ProcessEnd traced = RunExplore({"--scenario=write-last", "--seed=4", "--trace=" + path});
  EXPECT_EQ(traced.out, plain.out);
  EXPECT_EQ(traced.exit_code, plain.exit_code);
  std::ifstream file(path);
  const auto trace = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  ASSERT_TRUE(trace.is_object());
  EXPECT_GT(trace["traceEvents"].size(), 10u);
  EXPECT_EQ(trace["otherData"]["seed"], 4);
}

TEST(ExploreProgramTest, FailureEndsWithOneAndItsReplayShowsTheSame) {
  const ProcessEnd found =
      RunExplore({"--scenario=write-last", "--seeds=50", "--first-seed=30", "--json"});
  ASSERT_EQ(found.exit_code, 1) << found;
  const auto failure = nlohmann::json::parse(found.out)["failures"][0];
  EXPECT_EQ(failure["verdict"], "wrong-data");
  EXPECT_GE(failure["seed"], 30);
  const std::string seed = std::to_string(failure["seed"].get<std::uint64_t>());
  const ProcessEnd again =
      RunExplore({"--scenario=write-last", "--faults=swarm", "--seed=" + seed, "--json"});
  EXPECT_EQ(again.exit_code, 1) << again;
  const auto replayed = nlohmann::json::parse(again.out);
  for (const char* key : {"seed", "verdict", "text", "digest", "events"}) {
    EXPECT_EQ(replayed[key], failure[key]) << key;
  }
}

TEST(ExploreProgramTest, OneSeedPrintsItsPlanAndItsVerdict) {
  const ProcessEnd end = RunExplore({"--scenario=barrier", "--seed=5"});
  EXPECT_EQ(end.exit_code, 0) << end;
  EXPECT_THAT(end.out, AllOf(StartsWith("scenario barrier, seed 5, faults swarm\n"),
                             HasSubstr("\"about\": \"swarm of seed 5\""), HasSubstr("digest ")));
  EXPECT_THAT(end.LastLine(), MatchesRegex("correct|clean-error: .*"));
  const ProcessEnd none = RunExplore({"--scenario=barrier", "--seed=5", "--faults=none"});
  EXPECT_EQ(none.LastLine(), "correct");
  EXPECT_THAT(none.out, Not(HasSubstr("about")));
}

TEST(ExploreProgramTest, PlanOfAFileIsTheSameForAllSeeds) {
  const std::string plan = WriteText("refused.json", R"({"mode": "adversarial", "rules": [
      {"name": "third", "fault": "post_refused", "when": {"operation": "write", "nth": 3}}]})");
  const ProcessEnd end = RunExplore({"--faults=" + plan, "--seeds=20", "--json"});
  EXPECT_EQ(end.exit_code, 0) << end;
  const auto report = nlohmann::json::parse(end.out);
  EXPECT_EQ(report["verdicts"]["clean-error"], 20);
  EXPECT_EQ(report["rules"][0]["fired"], 20);
}

TEST(ExploreProgramTest, APlanIsNotWrittenOver) {
  const std::string text = R"({"rules": [{"fault": "delayed_completion"}]})";
  const std::string plan = WriteText("spared.json", text);
  const std::string out = ::testing::TempDir() + "out.json";
  ExpectRefused({{{"--seed=3", "--faults=" + plan, "--out=" + plan}, "that this run reads"},
                 {{"--seed=3", "--faults=" + plan, "--trace=" + plan}, "that this run reads"},
                 {{"--seed=3", "--trace=" + out, "--out=" + out}, "are both to be in"},
                 {{"--seed=3", "--out=/nowhere/x"}, "--out=/nowhere/x: cannot be written"}});
  std::ifstream file(plan);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), text);
}

TEST(ExploreProgramTest, RuleOfAFileThatNeverFiredFails) {
  const std::string plan = WriteText("never.json", R"({"rules": [
      {"name": "third peer", "fault": "unreachable", "when": {"peer": 2}}]})");
  const ProcessEnd end = RunExplore({"--faults=" + plan, "--seeds=5"});
  EXPECT_EQ(end.exit_code, 1) << end;
  EXPECT_THAT(Lines(end.err), ElementsAre(AllOf(StartsWith("explore: rule 1 (third peer) fired 0"),
                                                HasSubstr("5 seeds"))));
}

TEST(ExploreProgramTest, UnwrittenPageIsFoundReplayedAndShrunkToOneWrite) {
  const std::string folder = ::testing::TempDir() + "unwritten";
  const ProcessEnd found = RunExplore(
      {"--scenario=write-last", "--seeds=5", "--faults=none", "--json", "--capsules=" + folder});
  ASSERT_EQ(found.exit_code, 1) << found;
  const auto failure = nlohmann::json::parse(found.out)["failures"][0];
  const std::string capsule = failure["capsule"];
  EXPECT_THAT(capsule, StartsWith(folder));

  const ProcessEnd replayed = RunExplore({"--replay=" + capsule});
  EXPECT_EQ(replayed.exit_code, 1) << replayed;
  EXPECT_EQ(replayed.LastLine(), "replayed bit for bit");
  EXPECT_THAT(replayed.out, HasSubstr("digest " + failure["digest"].get<std::string>()));

  const std::string picture = folder + "/story.svg";
  const ProcessEnd shrunk = RunExplore({"--shrink=" + capsule, "--json", "--picture=" + picture});
  ASSERT_EQ(shrunk.exit_code, 0) << shrunk;
  const auto report = nlohmann::json::parse(shrunk.out);
  EXPECT_EQ(report["capsule"], capsule + ".min");
  EXPECT_EQ(report["after"]["not_calm"], 1) << report;
  EXPECT_EQ(report["result"]["verdict"], "wrong-data");
  EXPECT_LT(report["after"]["operations"], report["before"]["operations"]);
  EXPECT_THAT(report["story"][1].get<std::string>(),
              AllOf(StartsWith("write "), HasSubstr("server/"), HasSubstr(" -> client/"),
                    HasSubstr(", which was posted after it")));
  std::ifstream svg(picture);
  const std::string drawn{std::istreambuf_iterator<char>(svg), {}};
  EXPECT_THAT(drawn, AllOf(HasSubstr("<svg"), HasSubstr("client/"), HasSubstr("has not landed"),
                           HasSubstr("write, 64 bytes: does not land")));
  const ProcessEnd again = RunExplore({"--replay=" + capsule + ".min"});
  EXPECT_EQ(again.exit_code, 1) << again;
  EXPECT_EQ(again.LastLine(), "replayed bit for bit");
}

// Other users have folders beside it, and may have made one of its name.
TEST(ExploreProgramTest, CapsulesWithoutAFolderGoToOneOfThisUser) {
  const std::string temporary = ::testing::TempDir() + "temporary";
  const std::string folder = temporary + "/drydock-capsules-" + std::to_string(geteuid());
  std::filesystem::remove_all(temporary);
  std::filesystem::create_directory(temporary);
  const auto run = [&] {
    return RunExplore({"--scenario=write-last", "--seeds=5", "--faults=none"},
                      {{"TMPDIR", temporary}});
  };
  std::ofstream(folder) << "no folder";
  ProcessEnd end = run();
  EXPECT_EQ(end.exit_code, 1) << end;  // as without a capsule
  EXPECT_THAT(end.out, AllOf(HasSubstr("wrong-data"), Not(HasSubstr("capsule: "))));
  EXPECT_THAT(Lines(end.err), ElementsAre("explore: " + folder + ": cannot be made"));
  std::filesystem::remove(folder);
  end = run();
  EXPECT_EQ(end.exit_code, 1) << end;
  EXPECT_THAT(end.out, HasSubstr("capsule: " + folder + "/write-last-"));
  EXPECT_EQ(std::filesystem::status(folder).permissions() & std::filesystem::perms::all,
            std::filesystem::perms::owner_all);
  std::filesystem::permissions(folder, std::filesystem::perms::all);
  end = run();
  EXPECT_EQ(end.exit_code, 1) << end;
  EXPECT_THAT(Lines(end.err), ElementsAre("explore: " + folder + ": others can write to it"));
}

TEST(ExploreProgramTest, FaultsOfTheSwarmAreShrunkAway) {
  const std::string folder = ::testing::TempDir() + "swarm";
  const ProcessEnd found = RunExplore({"--scenario=write-last", "--seeds=1", "--first-seed=3",
                                       "--json", "--capsules=" + folder, "--parameters=pages=3"});
  ASSERT_EQ(found.exit_code, 1) << found;
  const auto failure = nlohmann::json::parse(found.out)["failures"][0];
  EXPECT_THAT(failure["replay"].get<std::string>(), HasSubstr("--parameters=pages=3 --seed=3"));
  const std::string out = folder + "/small.capsule";
  const ProcessEnd shrunk =
      RunExplore({"--shrink=" + failure["capsule"].get<std::string>(), "--out=" + out, "--json"});
  ASSERT_EQ(shrunk.exit_code, 0) << shrunk;
  const auto report = nlohmann::json::parse(shrunk.out);
  EXPECT_EQ(report["capsule"], out);
  EXPECT_GT(report["before"]["firings"], 1);
  // One fault or one delay is enough.
  EXPECT_EQ(report["after"]["firings"].get<int>() + report["after"]["not_calm"].get<int>(), 1);
  EXPECT_EQ(RunExplore({"--replay=" + out}).LastLine(), "replayed bit for bit");
}

TEST(ExploreProgramTest, NothingIsWrittenWhenNothingFails) {
  const std::string folder = ::testing::TempDir() + "nothing";
  const ProcessEnd fine = RunExplore({"--scenario=ping-pong", "--seeds=5", "--capsules=" + folder});
  EXPECT_EQ(fine.exit_code, 0) << fine;
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  const ProcessEnd none =
      RunExplore({"--scenario=write-last", "--seeds=5", "--faults=none", "--capsules=none"});
  EXPECT_EQ(none.exit_code, 1) << none;
  EXPECT_THAT(none.out, Not(HasSubstr("capsule")));
}

TEST(ExploreProgramTest, AResultThatFoundNoRoomIsAFailure) {
  const std::string explore = harness::ProgramPath("DRYDOCK_EXPLORE");
  const ProcessEnd end =
      harness::Subprocess::Run(
          {"/bin/sh", "-c", explore + " --scenario=ping-pong --seeds=5 --json >/dev/full"})
          .value();
  EXPECT_EQ(end.exit_code, 1) << end;
  EXPECT_THAT(end.err, HasSubstr("explore: standard output cannot be written"));
}

TEST(ExploreProgramTest, ACapsuleIsNotWrittenOver) {
  const std::string folder = ::testing::TempDir() + "spared";
  const auto explore = [&](const std::string& pages) {
    return RunExplore({"--scenario=write-last", "--seeds=1", "--faults=none",
                       "--parameters=pages=" + pages, "--capsules=" + folder});
  };
  const auto files = [&] {
    return std::distance(std::filesystem::directory_iterator(folder),
                         std::filesystem::directory_iterator());
  };
  const std::string first = folder + "/write-last-1-wrong-data";
  EXPECT_THAT(explore("8").out, HasSubstr(first + ".capsule"));
  EXPECT_THAT(explore("4").out, HasSubstr(first + "-2.capsule"));  // another run of the same seed
  EXPECT_THAT(explore("8").out, HasSubstr(first + ".capsule"));    // the first one again
  EXPECT_EQ(files(), 2);

  const std::string capsule = first + ".capsule";
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--replay=" + capsule, "--trace=" + capsule},
        {"--shrink=" + capsule, "--picture=" + capsule}}) {
    const ProcessEnd refused = RunExplore(arguments);
    EXPECT_EQ(refused.exit_code, 2) << refused;
    EXPECT_THAT(refused.err, HasSubstr("is a file that this run reads"));
  }
  EXPECT_EQ(RunExplore({"--replay=" + capsule}).LastLine(), "replayed bit for bit");
}

TEST(ExploreProgramTest, ASeedThatNeverEndsLeavesItsCapsuleToo) {
  const std::string out = ::testing::TempDir() + "never-ends.capsule";
  const ProcessEnd end = RunExplore(
      {"--scenario=museum-again-never-reads", "--faults=none", "--seed=1", "--out=" + out});
  EXPECT_EQ(end.exit_code, 1) << end;
  EXPECT_THAT(end.out, HasSubstr("posts to a full send queue for ever"));
  const ProcessEnd again = RunExplore({"--replay=" + out});
  EXPECT_EQ(again.exit_code, 1) << again;
  EXPECT_THAT(again.out, HasSubstr("hang: "));
  EXPECT_EQ(again.LastLine(), "replayed bit for bit");
}

// A small capsule may take hours: where it cannot be written, nothing runs.
TEST(ExploreProgramTest, WhereAResultGoesIsKnownBeforeTheFirstRun) {
  const std::string folder = ::testing::TempDir() + "small-one";
  const ProcessEnd found =
      RunExplore({"--scenario=write-last", "--seeds=1", "--faults=none", "--capsules=" + folder});
  ASSERT_EQ(found.exit_code, 1) << found;
  const std::string capsule = folder + "/write-last-1-wrong-data.capsule";
  std::filesystem::create_directory(capsule + ".min");
  const std::string out = "--out=" + folder + "/x";
  ExpectRefused(
      {{{"--shrink=" + capsule}, ".min: cannot be written: Is a directory"},
       {{"--shrink=" + capsule, "--out=/nowhere/x"}, "--out=/nowhere/x: cannot be written"},
       {{"--shrink=" + capsule, out, "--picture=" + folder + "/./x"},
        "--out and --picture are both to be in"},
       {{"--replay=" + capsule, out, "--trace=" + folder + "/./x"},
        "--out and --trace are both to be in"}});
}

TEST(ExploreProgramTest, SweepPrintsAMatrix) {
  const ProcessEnd end =
      RunExplore({"--sweep", "--scenario=ping-pong", "--parameters=rounds=1,message_bytes=8"});
  EXPECT_EQ(end.exit_code, 0) << end;
  EXPECT_THAT(Lines(end.out).front(), MatchesRegex("fault +runs +first failing n +verdicts"));
  EXPECT_THAT(end.out, HasSubstr("receiver_not_ready, sticky"));
  EXPECT_THAT(end.LastLine(), MatchesRegex("[0-9]+ rows, [0-9]+ runs: 0 rows failed"));
}

TEST(ExploreProgramTest, SweepLeavesCapsulesOfItsFirstFailures) {
  const std::string folder = ::testing::TempDir() + "sweep";
  const ProcessEnd end = RunExplore({"--sweep", "--scenario=write-last", "--seed=4", "--json",
                                     "--parameters=pages=2,page_bytes=64", "--capsules=" + folder});
  ASSERT_EQ(end.exit_code, 1) << end;
  std::vector<std::string> capsules;
  for (const auto& row : nlohmann::json::parse(end.out)) {
    if (row.contains("capsule")) capsules.push_back(row["capsule"]);
  }
  ASSERT_EQ(capsules.size(), 10u);
  for (const std::string& capsule : {capsules.front(), capsules.back()}) {
    EXPECT_THAT(capsule, StartsWith(folder + "/write-last-4-"));
    const ProcessEnd replayed = RunExplore({"--replay=" + capsule});
    EXPECT_EQ(replayed.exit_code, 1) << replayed;
    EXPECT_EQ(replayed.LastLine(), "replayed bit for bit");
  }
  EXPECT_NE(capsules.front(), capsules.back());
}

TEST(ExploreProgramTest, HealedRunsEnd) {
  const ProcessEnd end =
      RunExplore({"--scenario=barrier", "--seeds=30", "--heal-after=20us", "--json"});
  EXPECT_EQ(end.exit_code, 0) << end;
  const ProcessEnd always = RunExplore({"--scenario=barrier", "--seeds=30", "--json"});
  EXPECT_GT(nlohmann::json::parse(end.out)["verdicts"]["correct"],
            nlohmann::json::parse(always.out)["verdicts"]["correct"]);
}

TEST(ExploreProgramTest, ListNamesEveryScenario) {
  const ProcessEnd end = RunExplore({"--list"});
  EXPECT_EQ(end.exit_code, 0) << end;
  for (const char* name : {"write ", "write-last", "ping-pong", "barrier", "credit-flow",
                           "all-to-all", "try-again", "alltoall"}) {
    EXPECT_THAT(end.out, HasSubstr(name));
  }
  EXPECT_EQ(nlohmann::json::parse(RunExplore({"--list", "--json"}).out).size(), 10u);
}

// Right for the two seconds that the profile guesses, and found out by others that are plausible.
TEST(ExploreProgramTest, ProgramThatIsRightOnlyForOurGuessIsFound) {
  const ProcessEnd guess = RunExplore({"--scenario=failover", "--seeds=60", "--faults=none"});
  EXPECT_EQ(guess.exit_code, 0) << guess;
  const ProcessEnd found = RunExplore(
      {"--scenario=failover", "--seeds=10", "--faults=none", "--profile-sweep", "--capsules=none"});
  EXPECT_EQ(found.exit_code, 1) << found;
  EXPECT_THAT(found.out, AllOf(HasSubstr("depends on"), HasSubstr("unresponsive_timeout=60s")));
  const std::string replay =
      "--scenario=failover --faults=none --figures=unresponsive_timeout=60s ";
  EXPECT_THAT(found.out, HasSubstr(replay + "--seed=1\n"));
  const ProcessEnd again = RunExplore(
      {"--scenario=failover", "--faults=none", "--seed=1", "--figures=unresponsive_timeout=60s"});
  EXPECT_EQ(again.exit_code, 1) << again;
  EXPECT_THAT(again.LastLine(), StartsWith("unexplained-error: after 3 s"));
  const ProcessEnd drawn =
      RunExplore({"--scenario=failover", "--faults=none", "--seed=1", "--profile-sweep"});
  EXPECT_EQ(drawn.exit_code, 1) << drawn;
  EXPECT_THAT(drawn.out, AllOf(HasSubstr("figures of the seed: "), HasSubstr(replay)));
}

TEST(ExploreProgramTest, CapsuleOfAProfileSweepHasItsFigures) {
  const std::string folder = ::testing::TempDir() + "figures";
  const ProcessEnd found = RunExplore({"--scenario=failover", "--seeds=1", "--faults=none",
                                       "--profile-sweep", "--json", "--capsules=" + folder});
  ASSERT_EQ(found.exit_code, 1) << found;
  const auto report = nlohmann::json::parse(found.out);
  const std::string capsule = report["failures"][0]["capsule"];
  EXPECT_EQ(RunExplore({"--replay=" + capsule}).LastLine(), "replayed bit for bit");
  const auto dependence = report["dependences"][0];
  EXPECT_EQ(dependence["figures"]["unresponsive_timeout"], 60'000'000'000);
  EXPECT_LE(dependence["right_with"], 3'000'000'000);
  EXPECT_GE(dependence["wrong_with"], 2'990'000'000);
}

TEST(ExploreProgramTest, FiguresAreListedWithTheirReasons) {
  const ProcessEnd end = RunExplore({"--profile-sweep", "--list"});
  EXPECT_EQ(end.exit_code, 0) << end;
  EXPECT_THAT(end.out, AllOf(HasSubstr("rnr_delay"), HasSubstr("IBTA")));
  EXPECT_GT(nlohmann::json::parse(RunExplore({"--profile-sweep", "--list", "--json"}).out).size(),
            8u);
}

TEST(ExploreProgramTest, HelpTeaches) {
  const ProcessEnd end = RunExplore({"--help"});
  EXPECT_EQ(end.exit_code, 0) << end;
  EXPECT_THAT(end.out, AllOf(HasSubstr("--faults=swarm|none|FILE"), HasSubstr("clean-error"),
                             HasSubstr("Exit status: 0 all fine")));
}

TEST(ExploreProgramTest, BadInputIsOneLineAndTwo) {
  const std::string no_folder = WriteText("no-folder", "");
  ExpectRefused(
      {{{"--scenario=nothing"}, "--scenario=nothing does not exist: write, write-last, ping-pong"},
       {{"--seeds=0"}, "no seeds"},
       {{"--seeds=many"}, "--seeds=many is not valid"},
       {{"--seed=x"}, "--seed=x: it takes a whole number"},
       {{"--jobs=2000"}, "2000 jobs"},
       {{"--first-seed=18446744073709551615"}, "there are no 1000 seeds"},
       {{"--faults=/nowhere.json"}, "--faults=/nowhere.json: no such file"},
       {{"--faults=" +
         WriteText("nobody.json",
                   R"({"mode": "illegal", "rules": [{"fault": "late_device_visibility"}]})")},
        "rule 1 (late_device_visibility)"},
       {{"--faults=" + WriteText("share.json", R"({"rules": [
          {"fault": "bad_response", "parameters": {"placed_percent": 107}}]})")},
        "placed_percent is 107"},
       {{"write"}, "'write' is no flag"},
       {{"--replay=/nowhere.capsule"}, "/nowhere.capsule: No such file"},
       {{"--replay=" + WriteText("broken.capsule", "{\"seed\": }")}, "broken.capsule: "},
       {{"--shrink=" + WriteText("empty.capsule", "{}")}, "lacks the key \"drydock_capsule\""},
       {{"--parameters=pages=0"}, "--parameters=pages=0: parameter pages is 0: it takes from 1"},
       {{"--parameters=pages"}, "'pages' is no parameter"},
       {{"--parameters=rounds=1"}, "parameter rounds does not exist: pages, page_bytes"},
       {{"--figures=rnr_delay=2s"},
        "--figures=rnr_delay=2s: figure rnr_delay is 2s: it takes from"},
       {{"--figures=rnr_delay=1ms", "--profile-sweep"}, "--profile-sweep draws the figures"},
       {{"--profile-sweep", "--sweep"}, "are for seeds: not for --sweep"},
       {{"--heal-after=soon"}, "--heal-after=soon: it takes a time"},
       {{"--picture=p.svg", "--seeds=5"}, "--picture is of a small run: with --shrink"},
       {{"--trace=t.json", "--seeds=5"}, "--trace is for one run: with --seed or --replay"},
       {{"--trace-data=1MiB", "--seeds=5"}, "--trace-data says how much goes into a trace"},
       {{"--seeds=5", "--out=x"}, "--out is of one run"},
       {{"--partial"}, "--partial is for merge"},
       {{"--list", "--profile-sweep", "--csv"}, "--csv is for seeds, orders and --list of"},
       {{"--sweep", "--require-covered=x"}, "--sweep counts no coverage"},
       {{"--seed=1", "--until=covered"}, "--until is for many seeds"},
       {{"--seed=1", "--seeds=5"}, "--seeds is for many seeds"},
       {{"--sweep", "--twice-every=1"}, "--twice-every is for many seeds"},
       {{"--replay="}, "--replay= is not valid: it takes a value"},
       {{"--shrink="}, "--shrink= is not valid: it takes a value"},
       {{"--seed=1", "--out="}, "--out= is not valid: it takes a value"},
       {{"--seeds=5", "--capsules="}, "--capsules= is not valid: it takes a value"},
       {{"--seeds=5", "--faults="}, "--faults= is not valid: it takes a value"},
       {{"--replay=a.capsule", "--shrink=b.capsule"}, "--replay takes no --shrink"},
       {{"--replay=a.capsule", "b.capsule"}, "--replay takes no argument 'b.capsule'"},
       {{"--replay=a.capsule", "--picture=x.svg"}, "--replay takes no --picture"},
       {{"--shrink=a.capsule", "--seed=3"}, "--shrink takes no --seed"},
       {{"--seeds=5", "--capsules=" + no_folder}, "--capsules=" + no_folder + ": "},
       {{"--seed-first=1"}, "unknown flag --seed-first"}});
}

TEST(ExploreProgramTest, ARuleThatNeverFiresIsAnErrorOfOneSeedToo) {
  const std::string plan = WriteText(
      "never.json", R"({"rules": [{"fault": "delayed_completion", "when": {"nth": 1000000}}]})");
  for (const char* seeds : {"--seed=1", "--seeds=3"}) {
    const ProcessEnd end = RunExplore({seeds, "--faults=" + plan});
    EXPECT_EQ(end.exit_code, 1) << end;
    EXPECT_THAT(end.err, HasSubstr("delayed_completion")) << end;
  }
}

TEST(ExploreProgramTest, ACapsuleOfAProgramIsForEfaRun) {
  const std::string path = WriteText("program.capsule", R"({"drydock_capsule": 1,
      "program": {"words": ["true"]}, "profile": "p5", "seed": 1, "limit_ns": 1000000000,
      "faults": {"rules": []}, "build": {}, "verdict": "crash",
      "digest": "00000000000000000000000000000000", "events": 0})");
  for (const char* flag : {"--replay=", "--shrink="}) {
    const ProcessEnd end = RunExplore({flag + path});
    EXPECT_EQ(end.exit_code, 2) << end;
    EXPECT_THAT(end.err, HasSubstr("of a program: efa-run runs it"));
  }
}

TEST(ExploreProgramTest, ACapsuleOfATestIsForThatTest) {
  const std::string path = WriteText("Copy.IsRight-7.capsule", R"({"drydock_capsule": 1,
      "scenario": "Copy.IsRight", "profile": "p5", "seed": 7, "limit_ns": 1000000000,
      "faults": {"rules": []}, "build": {}, "verdict": "hang",
      "digest": "00000000000000000000000000000000", "events": 0})");
  for (const char* flag : {"--replay=", "--shrink="}) {
    const ProcessEnd end = RunExplore({flag + path});
    EXPECT_EQ(end.exit_code, 2) << end;
    EXPECT_EQ(end.err, "explore: " + path +
                           ": scenario Copy.IsRight is not here; a capsule of a test: "
                           "DRYDOCK_CAPSULE=FILE ./test\n");
  }
}

TEST(ExploreProgramTest, ACapsuleOfAScenarioThatIsGoneSaysWhichThereAre) {
  const std::string path = WriteText("gone.capsule", R"({"drydock_capsule": 1,
      "scenario": "gone", "profile": "p5", "seed": 7, "limit_ns": 1000000000,
      "faults": {"rules": []}, "build": {}, "verdict": "hang",
      "digest": "00000000000000000000000000000000", "events": 0})");
  const ProcessEnd end = RunExplore({"--replay=" + path});
  EXPECT_EQ(end.exit_code, 2) << end;
  EXPECT_THAT(end.err, AllOf(HasSubstr(path + ": --scenario=gone does not exist: "),
                             HasSubstr("ping-pong"), Not(HasSubstr("DRYDOCK_CAPSULE"))));
}

}  // namespace
}  // namespace drydock::apps
