// Capsules: written and read, replayed, shrunk.

#include "drydock/sim/explore/capsule.h"

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/task.h"
#include "drydock/coro/wait_list.h"
#include "drydock/fabric/faults/plan.h"
#include "drydock/sim/explore/capsule_json.h"
#include "drydock/sim/explore/nodes.h"
#include "drydock/sim/explore/ranges.h"
#include "drydock/sim/explore/replay.h"
#include "drydock/sim/explore/shrink.h"
#include "drydock/sim/explore/subject.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace drydock::sim::explore {
namespace {

using namespace std::chrono_literals;
using ::drydock::testing_matchers::IsOk;
using ::drydock::testing_matchers::IsOkAndHolds;
using ::drydock::testing_matchers::StatusIs;
using fabric::async::BufferRef;
using fabric::faults::Fault;
using fabric::faults::FaultPlan;
using fabric::faults::FaultRule;
using fabric::faults::FiringId;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::SizeIs;

constexpr std::array<Parameter, 2> kParameters = {
    Parameter{"writes", 300, 1, 10000, "one after the other"},
    Parameter{"bytes", 256, 8, 1 << 20, "of a write"},
};

using Judge = std::function<Outcome(const std::set<std::uint64_t>& failed)>;

coro::Task<absl::Status> WriteAll(Trial& trial, std::set<std::uint64_t>& failed) {
  auto opened = OpenNodes(trial, coro::EventLoop::Current(), 2);
  if (!opened.ok()) co_return opened.status();
  const auto machines = *std::move(opened);
  const std::size_t bytes = trial.parameter("bytes");
  const auto source = machines[0]->Allocate(bytes);
  const auto target = machines[1]->Allocate(bytes);
  if (!source.ok() || !target.ok()) co_return absl::UnavailableError("no memory");
  for (std::uint64_t i = 1; i <= trial.parameter("writes"); ++i) {
    const fabric::Completion written = co_await machines[0]->endpoint().Write(
        *source, (*target)->region().remote(), machines[0]->peer(1), {});
    if (!written.ok()) failed.insert(i);
  }
  co_return absl::OkStatus();
}

// Writes one after the other; how it ends depends on which of them fail.
class WritesScenario final : public Scenario {
 public:
  explicit WritesScenario(Judge judge) : judge_(std::move(judge)) {}

  std::string_view name() const override { return "writes"; }
  std::string_view description() const override { return "writes one after the other"; }
  std::span<const Parameter> parameters() const override { return kParameters; }

  Outcome Run(Trial& trial) const override {
    coro::EventLoop loop(trial.clock());
    std::set<std::uint64_t> failed;
    const absl::Status status = loop.Run(WriteAll(trial, failed));
    return status.ok() ? judge_(failed) : Outcome::Of(status);
  }

 private:
  const Judge judge_;
};

// Wrong when both of these fail.
WritesScenario Planted(std::uint64_t one, std::uint64_t other) {
  return WritesScenario([=](const std::set<std::uint64_t>& failed) {
    const bool wrong = failed.count(one) > 0 && failed.count(other) > 0;
    return wrong ? Outcome::WrongData("planted") : Outcome::Of(absl::OkStatus());
  });
}

RunSpec EveryWriteFails() {
  RunSpec spec;
  spec.seed = 5;
  FaultRule rule = FaultRule::Of(Fault::kRemoteAbort, "every write");
  rule.parameters.delay = 1us;
  spec.plan.rules.push_back(FaultRule::Of(Fault::kDelayedCompletion, "late"));
  spec.plan.rules[0].when.nth = 7;
  spec.plan.rules.push_back(rule);
  return spec;
}

Capsule CapsuleOf(const Scenario& scenario, const RunSpec& spec) {
  return MakeCapsule(scenario, spec, RunIsolated(scenario, spec, 1min).value());
}

// ---- The file ----

TEST(CapsuleTest, TextHoldsAllOfIt) {
  const WritesScenario scenario = Planted(3, 4);
  RunSpec spec = EveryWriteFails();
  spec.parameters["writes"] = 20;
  spec.heal_after = 3ms;
  spec.disturbed = std::vector<std::uint64_t>{1, 2, 3, 9};
  Capsule written = CapsuleOf(scenario, spec);
  EXPECT_EQ(written.result.verdict, Verdict::kWrongData);
  written.result.check = std::string(500, 'c');  // a point's name has no limit
  EXPECT_THAT(written.run.firings, Optional(SizeIs(21)));
  ASSERT_OK_AND_ASSIGN(const Capsule read, ParseCapsule(FormatCapsule(written)));
  EXPECT_EQ(FormatCapsule(read), FormatCapsule(written));
  EXPECT_EQ(read.run.plan, spec.plan);
  EXPECT_EQ(read.run.disturbed, spec.disturbed);
  EXPECT_EQ(read.run.heal_after, spec.heal_after);
  EXPECT_EQ(read.run.parameters, spec.parameters);
  EXPECT_EQ(read.result, written.result);
  EXPECT_EQ(read.build, Build::This());
  EXPECT_THAT(read.last_events, SizeIs(RunTrace::kMostEvents));
}

TEST(CapsuleTest, AnOlderCapsuleIsRead) {
  const WritesScenario scenario = Planted(3, 4);
  RunSpec spec = EveryWriteFails();
  spec.disturbed = std::vector<std::uint64_t>{1, 2, 3, 9};
  const std::string text = FormatCapsule(CapsuleOf(scenario, spec));
  const std::string older = absl::StrReplaceAll(text, {{"\"disturbed\":", "\"wild\":"}});
  ASSERT_NE(older, text);
  ASSERT_OK_AND_ASSIGN(const Capsule read, ParseCapsule(older));
  EXPECT_EQ(read.run.disturbed, spec.disturbed);
  const std::string both =
      absl::StrReplaceAll(text, {{"\"disturbed\":", "\"wild\": \"1\", \"disturbed\":"}});
  EXPECT_THAT(ParseCapsule(both), StatusIs(absl::StatusCode::kInvalidArgument,
                                           HasSubstr("the old name of \"disturbed\"")));
}

TEST(CapsuleTest, LongRunsHaveSmallCapsules) {
  const WritesScenario scenario = Planted(1, 2);
  RunSpec spec = EveryWriteFails();
  spec.plan.rules[1].when.probability = 0.5;
  spec.parameters["writes"] = 10000;
  const Capsule capsule = CapsuleOf(scenario, spec);
  EXPECT_GT(capsule.result.events, 50000u);
  EXPECT_LT(FormatCapsule(capsule).size(), 100u << 10);
}

// Every second event from the first one on: no two of them are one range.
std::vector<FiringId> EverySecond(std::uint64_t last) {
  std::vector<FiringId> firings;
  for (std::uint64_t number = 1; number < last; number += 2) firings.push_back({1, number});
  return firings;
}

TEST(CapsuleTest, FiringsThatDoNotFitAreLeftToTheRules) {
  Capsule capsule = CapsuleOf(Planted(1, 2), EveryWriteFails());
  capsule.run.firings = EverySecond(400000);
  const std::string text = FormatCapsule(capsule);
  EXPECT_LT(text.size(), Capsule::kMostBytes);
  ASSERT_OK_AND_ASSIGN(const Capsule read, ParseCapsule(text));
  EXPECT_EQ(read.run.firings, std::nullopt);
}

TEST(CapsuleTest, FiringsThatFillAFileAreKept) {
  Capsule capsule = CapsuleOf(Planted(1, 2), EveryWriteFails());
  capsule.run.firings = EverySecond(290000);
  const std::string text = FormatCapsule(capsule);
  EXPECT_GT(text.size(), Capsule::kMostBytes * 9 / 10);
  EXPECT_LE(text.size(), Capsule::kMostBytes);
  ASSERT_OK_AND_ASSIGN(const Capsule read, ParseCapsule(text));
  EXPECT_EQ(read.run.firings, capsule.run.firings);
}

TEST(CapsuleTest, MistakesAreNamed) {
  const WritesScenario scenario = Planted(3, 4);
  RunSpec spec = EveryWriteFails();
  spec.parameters["writes"] = 5;
  const auto valid = nlohmann::json::parse(FormatCapsule(CapsuleOf(scenario, spec)));
  struct Mistake {
    const char* key;
    nlohmann::json value;
    const char* message;
  };
  const Mistake mistakes[] = {
      {"surprise", 1, "surprise"},
      {"drydock_capsule", 2, "version 2"},
      {"drydock_capsule", "1", "drydock_capsule"},
      {"scenario", 7, "scenario"},
      {"seed", -1, "seed"},
      {"seed", "5", "seed"},
      {"limit_ns", 0, "limit_ns"},
      {"heal_after_ns", -5, "heal_after_ns"},
      {"parameters", 3, "parameters"},
      {"parameters", {{"writes", "many"}}, "writes"},
      {"faults", {{"rules", "none"}}, "rules"},
      {"firings", {{"nobody", "1"}}, "no rule \"nobody\""},
      {"firings", {{"late", "2,1"}}, "'1'"},
      {"firings", {{"late", "1-99999999999"}}, "more than"},
      {"firings", {{"late", "-4"}}, "'-4'"},
      {"disturbed", "1,,2", "disturbed"},
      {"verdict", "maybe", "maybe"},
      {"digest", "12", "32 hexadecimal digits"},
      {"digest", std::string(32, 'g'), "32 hexadecimal digits"},
      {"text", std::string(13000, 'x'), "at most 12288"},
      {"build", {{"compiler", 1}}, "compiler"},
      {"marks", {"12 no"}, "rising number and a digest"},
      {"marks", {"2 " + std::string(32, '1'), "1 " + std::string(32, '1')}, "rising number"},
      {"last_events", "none", "no list"},
  };
  for (const Mistake& mistake : mistakes) {
    auto wrong = valid;
    wrong[mistake.key] = mistake.value;
    const absl::Status status = ParseCapsule(wrong.dump()).status();
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(mistake.message)))
        << mistake.key;
    EXPECT_EQ(std::string(status.message()).find('\n'), std::string::npos) << status;
  }
  for (const char* key : {"scenario", "seed", "faults", "digest", "verdict", "build"}) {
    auto wrong = valid;
    wrong.erase(key);
    EXPECT_THAT(ParseCapsule(wrong.dump()),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(key)));
  }
  EXPECT_THAT(ParseCapsule(""), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(ParseCapsule("{\"seed\": 1, \"seed\": 2}"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("twice")));
  EXPECT_THAT(ParseCapsule(std::string((1 << 20) + 1, ' ')),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("at most")));
}

TEST(CapsuleTest, CapsulesOfOtherScenariosAreRefused) {
  const WritesScenario scenario = Planted(3, 4);
  RunSpec spec = EveryWriteFails();
  spec.parameters["writes"] = 5;
  const Capsule valid = CapsuleOf(scenario, spec);
  EXPECT_THAT(CheckCapsule(valid, scenario), IsOk());
  Capsule wrong = valid;
  wrong.scenario = "reads";
  EXPECT_THAT(CheckCapsule(wrong, scenario), StatusIs(absl::StatusCode::kInvalidArgument));
  wrong = valid;
  wrong.profile = "p5";
  EXPECT_THAT(CheckCapsule(wrong, scenario), StatusIs(absl::StatusCode::kInvalidArgument));
  wrong = valid;
  wrong.run.parameters["writes"] = 0;
  EXPECT_THAT(CheckCapsule(wrong, scenario),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("from 1 to 10000")));
  wrong.run.parameters = {{"reads", 1}};
  EXPECT_THAT(CheckCapsule(wrong, scenario),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("writes, bytes")));
}

// ---- Of a program ----

// As efa-run makes them: the process is not ours.
Capsule CapsuleOfProgram() {
  Program program;
  program.words = {"./a program", "--flag", "", "two\nlines"};
  program.nics = 2;
  program.findings = "report";
  program.delays = false;
  program.topology = true;
  program.sysfs = true;
  program.files = {{"libc.so.6", "0123456789abcdef"}, {"program", ""}};
  RunSpec spec = EveryWriteFails();
  spec.disturbed = std::vector<std::uint64_t>{7};
  TracedRun run{{}, NewTrace()};
  run.result.verdict = Verdict::kCrash;
  run.result.text = "ended with exit status 3";
  const Subject subject = {
      .name = "a program", .profile = "p5", .parameters = {}, .program = program, .run = {}};
  return MakeCapsule(subject, spec, run);
}

TEST(CapsuleTest, OfAProgramHoldsItsWords) {
  const Capsule written = CapsuleOfProgram();
  ASSERT_OK_AND_ASSIGN(const Capsule read, ParseCapsule(FormatCapsule(written)));
  EXPECT_EQ(read.program, written.program);
  EXPECT_EQ(read.scenario, "");
  EXPECT_EQ(read.profile, "p5");
  EXPECT_EQ(read.run.disturbed, written.run.disturbed);
  EXPECT_EQ(FormatCapsule(read), FormatCapsule(written));
  EXPECT_THAT(CheckProgramCapsule(read), IsOk());
  EXPECT_THAT(CheckCapsule(read, Planted(3, 4)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("efa-run runs it")));
}

TEST(CapsuleTest, OfAProgramHasNoMistakes) {
  const auto valid = nlohmann::json::parse(FormatCapsule(CapsuleOfProgram()));
  struct Mistake {
    const char* key;
    nlohmann::json value;
    const char* message;
  };
  const std::string zero("a\0b", 3);
  const Mistake mistakes[] = {
      {"words", nlohmann::json::array(), "names no program"},
      {"words", "true", "no list"},
      {"words", {"a", 7}, "words"},
      {"words", {zero}, "a byte that is zero"},
      {"words", std::vector<std::string>(Program::kMostWords + 1), "at most 4096"},
      {"nics", -1, "nics"},
      {"findings", "yes", "fail, report and off"},
      {"delays", "off", "delays"},
      {"topology", 1, "topology"},
      {"sysfs", 1, "sysfs"},
      {"files", {{"a", 1}}, "a"},
      {"files", {{"a", std::string(65, 'x')}}, "at most 64"},
      {"environment", {{"LD_PRELOAD", "x"}}, "environment"},
  };
  for (const Mistake& mistake : mistakes) {
    auto wrong = valid;
    wrong["program"][mistake.key] = mistake.value;
    EXPECT_THAT(ParseCapsule(wrong.dump()),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(mistake.message)))
        << mistake.key;
  }
  auto many = valid;
  for (std::size_t i = 0; i <= Program::kMostFiles; ++i) {
    many["program"]["files"][std::to_string(i)] = "x";
  }
  EXPECT_THAT(ParseCapsule(many.dump()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("too many")));
  auto both = valid;
  both["scenario"] = "writes";
  EXPECT_THAT(ParseCapsule(both.dump()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("scenario or of a program")));
}

TEST(CapsuleTest, OfAProgramHasNothingThatOnlyScenariosHave) {
  const Capsule valid = CapsuleOfProgram();
  const std::vector<std::function<void(RunSpec&)>> mistakes = {
      [](RunSpec& run) { run.parameters["writes"] = 1; },
      [](RunSpec& run) { run.heal_after = 3ms; },
      [](RunSpec& run) { run.tight = true; },
  };
  for (const auto& spoil : mistakes) {
    Capsule wrong = valid;
    spoil(wrong.run);
    EXPECT_THAT(CheckProgramCapsule(wrong), StatusIs(absl::StatusCode::kInvalidArgument));
  }
  RunSpec spec = EveryWriteFails();
  spec.parameters["writes"] = 5;
  EXPECT_THAT(CheckProgramCapsule(CapsuleOf(Planted(3, 4), spec)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("explore runs it")));
}

TEST(CapsuleTest, FilesAreWrittenAndRead) {
  const std::string path = ::testing::TempDir() + "one.capsule";
  RunSpec spec = EveryWriteFails();
  spec.parameters["writes"] = 5;
  const Capsule capsule = CapsuleOf(Planted(3, 4), spec);
  ASSERT_THAT(WriteCapsule(path, capsule), IsOk());
  ASSERT_OK_AND_ASSIGN(const Capsule read, ReadCapsule(path));
  EXPECT_EQ(FormatCapsule(read), FormatCapsule(capsule));
  EXPECT_THAT(ReadCapsule(path + ".none"), StatusIs(absl::StatusCode::kNotFound));
  std::ofstream(path) << "{";
  EXPECT_THAT(ReadCapsule(path), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(path)));
  EXPECT_THAT(WriteCapsule("/no/such/folder/a", capsule),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("/no/such/folder/a")));
}

TEST(CapsuleTest, WhoReadsAFileFindsAllOfIt) {
  const std::string folder = ::testing::TempDir() + "replaced";
  std::filesystem::create_directory(folder);
  const std::string path = folder + "/one.capsule";
  std::ofstream(path) << "what was there";
  std::ifstream before(path);
  const Capsule capsule = CapsuleOf(Planted(3, 4), EveryWriteFails());
  ASSERT_THAT(WriteCapsule(path, capsule), IsOk());
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(before), {}), "what was there");
  EXPECT_THAT(ReadCapsule(path), IsOk());
  const auto files = std::filesystem::directory_iterator(folder);
  EXPECT_EQ(std::distance(begin(files), end(files)), 1) << "nothing is left beside it";
  // A link stays one, and a device a device.
  const std::string link = ::testing::TempDir() + "link.capsule";
  std::filesystem::remove(link);
  std::filesystem::create_symlink(path, link);
  EXPECT_THAT(WriteCapsule(link, capsule), IsOk());
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_THAT(WriteCapsule("/dev/null", capsule), IsOk());
}

TEST(CapsuleTest, ACapsuleOfAnotherRunKeepsItsName) {
  const std::string folder = ::testing::TempDir() + "new";
  std::filesystem::create_directory(folder);
  const std::string name = folder + "/one";
  RunSpec spec = EveryWriteFails();
  std::vector<std::string> texts;
  for (const int writes : {5, 6, 7}) {
    spec.parameters["writes"] = writes;
    const Capsule capsule = CapsuleOf(Planted(3, 4), spec);
    texts.push_back(FormatCapsule(capsule));
    const std::string number = texts.size() == 1 ? "" : absl::StrCat("-", texts.size());
    for (int again = 0; again < 2; ++again) {
      EXPECT_THAT(WriteNewCapsule(name, capsule), IsOkAndHolds(name + number + ".capsule"));
    }
  }
  EXPECT_EQ(FormatCapsule(ReadCapsule(name + ".capsule").value()), texts[0]);
  const auto files = std::filesystem::directory_iterator(folder);
  EXPECT_EQ(std::distance(begin(files), end(files)), 3);
  EXPECT_THAT(WriteNewCapsule("/no/such/folder/a", CapsuleOf(Planted(3, 4), spec)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("/no/such/folder/a.capsule")));
}

TEST(RangesTest, AreReadAsTheyAreWritten) {
  EXPECT_EQ(FormatRanges({}), "");
  EXPECT_EQ(FormatRanges({3, 7, 8, 9, 11}), "3,7-9,11");
  ASSERT_OK_AND_ASSIGN(const auto numbers, ParseRanges("3,7-9,18446744073709551615", 5));
  EXPECT_THAT(numbers, ElementsAre(3, 7, 8, 9, UINT64_MAX));
  ASSERT_OK_AND_ASSIGN(const auto none, ParseRanges("", 5));
  EXPECT_THAT(none, IsEmpty());
  for (const char* wrong : {"1,", ",", "a", "3-", "-3", "5-4", "1,1", " 1", "+1", "1-6", "1--2"}) {
    EXPECT_THAT(ParseRanges(wrong, 5), StatusIs(absl::StatusCode::kInvalidArgument)) << wrong;
  }
}

TEST(ParametersTest, AreReadAsTheyAreWritten) {
  ASSERT_OK_AND_ASSIGN(const Parameters read, ParseParameters("writes=4,bytes=8"));
  EXPECT_EQ(FormatParameters(read), "bytes=8,writes=4");
  EXPECT_EQ(AllParameters(kParameters, {{"writes", 4}})["bytes"], 256u);
  for (const char* wrong : {"writes", "writes=", "=4", "writes=4,writes=5", "writes=-1", ","}) {
    EXPECT_THAT(ParseParameters(wrong), StatusIs(absl::StatusCode::kInvalidArgument)) << wrong;
  }
}

// ---- Replay ----

TEST(ReplayTest, SameProgramRunsBitForBit) {
  const WritesScenario scenario = Planted(3, 4);
  RunSpec spec = EveryWriteFails();
  spec.parameters["writes"] = 10;
  const Capsule capsule = CapsuleOf(scenario, spec);
  ASSERT_OK_AND_ASSIGN(const Replay replay, ReplayCapsule(scenario, capsule));
  EXPECT_TRUE(replay.exact());
  EXPECT_EQ(replay.what, "replayed bit for bit");
  // The rules alone give the same run as the list of their firings.
  Capsule by_rules = capsule;
  by_rules.run.firings.reset();
  ASSERT_OK_AND_ASSIGN(const Replay other, ReplayCapsule(scenario, by_rules));
  EXPECT_TRUE(other.exact());
}

TEST(ReplayTest, RulesThatBrokeAreTheSameWhereBothAreNamed) {
  const auto broke = [](const char* check) {
    SeedResult result;
    result.verdict = Verdict::kFinding;
    result.check = check;
    return result;
  };
  EXPECT_TRUE(IsSameVerdict(broke("a"), broke("a")));
  EXPECT_FALSE(IsSameVerdict(broke("a"), broke("b")));
  EXPECT_TRUE(IsSameVerdict(broke(""), broke("b")));
}

TEST(ReplayTest, ChangedProgramSaysWhatIsDifferent) {
  RunSpec spec = EveryWriteFails();
  spec.parameters["writes"] = 10;
  Capsule capsule = CapsuleOf(Planted(3, 4), spec);
  ASSERT_OK_AND_ASSIGN(const Replay mended, ReplayCapsule(Planted(3, 11), capsule));
  EXPECT_FALSE(mended.same_verdict);
  EXPECT_TRUE(mended.same_digest);
  EXPECT_THAT(mended.what, HasSubstr("it was wrong-data, and is correct now"));
  // Two writes less: the last firings find nothing.
  capsule.run.parameters["writes"] = 8;
  ASSERT_OK_AND_ASSIGN(const Replay shorter, ReplayCapsule(Planted(3, 4), capsule));
  EXPECT_TRUE(shorter.same_verdict);
  EXPECT_FALSE(shorter.exact());
  EXPECT_THAT(shorter.what, HasSubstr("the verdict is the same, the run is not"));
  EXPECT_THAT(shorter.what, HasSubstr("2 of 11 firings no longer apply"));
  EXPECT_THAT(shorter.what, HasSubstr("events are the same"));
}

// ---- Shrinking ----

TEST(ShrinkTest, TwoOfThreeHundredFaultsAreLeft) {
  const WritesScenario scenario = Planted(41, 263);
  const Capsule capsule = CapsuleOf(scenario, EveryWriteFails());
  ASSERT_EQ(capsule.result.verdict, Verdict::kWrongData);
  ASSERT_OK_AND_ASSIGN(const ShrinkReport report, Shrink(scenario, capsule, {}));
  EXPECT_EQ(report.before.firings, 301u);
  EXPECT_THAT(report.capsule.run.firings, Optional(ElementsAre(FiringId{0, 41}, FiringId{0, 263})));
  ASSERT_THAT(report.capsule.run.plan.rules, SizeIs(1));
  EXPECT_EQ(report.capsule.run.plan.rules[0].name, "every write");
  EXPECT_EQ(report.capsule.run.parameters.at("writes"), 263u);
  EXPECT_EQ(report.capsule.run.parameters.at("bytes"), 8u);
  EXPECT_THAT(report.capsule.run.disturbed, Optional(IsEmpty()));
  EXPECT_LT(report.runs, 250u);
  const std::string story = absl::StrJoin(report.story, "\n");
  EXPECT_THAT(story, HasSubstr("the fault remote_abort (every write) hits a write of 8 bytes"));
  EXPECT_THAT(story, HasSubstr("the 41st event that it could"));
  EXPECT_THAT(story, HasSubstr("the 263rd event that it could"));
  EXPECT_THAT(story, HasSubstr("263 other operations are calm"));
  ASSERT_OK_AND_ASSIGN(const Replay replay, ReplayCapsule(scenario, report.capsule));
  EXPECT_TRUE(replay.exact()) << replay.what;
}

TEST(ShrinkTest, CrashIsShrunkInChildProcesses) {
  const WritesScenario scenario([](const std::set<std::uint64_t>& failed) {
    if (failed.count(3) > 0) raise(SIGKILL);
    return Outcome::Of(absl::OkStatus());
  });
  RunSpec spec = EveryWriteFails();
  spec.parameters["writes"] = 40;
  const Capsule capsule = CapsuleOf(scenario, spec);
  EXPECT_EQ(capsule.result.verdict, Verdict::kCrash);
  EXPECT_THAT(capsule.run.firings, Optional(SizeIs(41)));
  ASSERT_OK_AND_ASSIGN(const ShrinkReport report, Shrink(scenario, capsule, {}));
  EXPECT_THAT(report.capsule.run.firings, Optional(ElementsAre(FiringId{0, 3})));
  EXPECT_EQ(report.capsule.run.parameters.at("writes"), 3u);
  EXPECT_EQ(report.capsule.result.text, "ended by signal 9 (Killed)");
}

coro::Task<absl::Status> WaitForNobody() {
  coro::WaitList nobody;
  co_await nobody.Wait();
  co_return absl::OkStatus();
}

TEST(ShrinkTest, HangIsKept) {
  class Waits final : public Scenario {
   public:
    std::string_view name() const override { return "waits"; }
    std::string_view description() const override { return "for nobody"; }
    Outcome Run(Trial& trial) const override {
      coro::EventLoop loop(trial.clock());
      return Outcome::Of(loop.Run(WaitForNobody()));
    }
  };
  const Waits scenario;
  const Capsule capsule = CapsuleOf(scenario, EveryWriteFails());
  ASSERT_OK_AND_ASSIGN(const ShrinkReport report, Shrink(scenario, capsule, {}));
  EXPECT_EQ(report.capsule.result.verdict, Verdict::kHang);
  EXPECT_THAT(report.capsule.run.plan.rules, IsEmpty());
}

TEST(ShrinkTest, WhatDoesNotFailIsRefused) {
  const WritesScenario scenario = Planted(3, 4);
  RunSpec spec;
  spec.parameters["writes"] = 5;
  Capsule capsule = CapsuleOf(scenario, spec);
  EXPECT_THAT(Shrink(scenario, capsule, {}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("correct")));
  capsule.result.verdict = Verdict::kWrongData;
  EXPECT_THAT(Shrink(scenario, capsule, {}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("is correct now")));
}

TEST(ShrinkTest, StopsAfterSoManyRuns) {
  const WritesScenario scenario = Planted(41, 263);
  const Capsule capsule = CapsuleOf(scenario, EveryWriteFails());
  ShrinkOptions options;
  options.most_runs = 20;
  ASSERT_OK_AND_ASSIGN(const ShrinkReport report, Shrink(scenario, capsule, options));
  EXPECT_EQ(report.capsule.result.verdict, Verdict::kWrongData);
  EXPECT_GT(report.after.firings, 2u);
  EXPECT_LE(report.runs, 22u);  // and the two that verify
}

}  // namespace
}  // namespace drydock::sim::explore
