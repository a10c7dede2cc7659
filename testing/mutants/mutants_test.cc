// The suites pass, and notice every mutant.

#include <chrono>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "drydock/coro/time.h"
#include "drydock/testing/harness/subprocess.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "drydock/testing/mutants/mutant_list.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::mutants {
namespace {

using ::testing::IsSupersetOf;
using testing_matchers::IsOk;

constexpr char kFolder[] = "testing/mutants/";

std::vector<Mutant> AllMutants() {
  auto mutants = LoadMutants(absl::StrCat(kFolder, "mutants.json"));
  return mutants.ok() ? *std::move(mutants) : std::vector<Mutant>();
}

// Without sweeps that take longer than all the others together; none of the mutants needs them.
constexpr char kWithout[] =
    "--gtest_filter=-PlacementTest.OnlyTheNamedRangesChange:"
    "PlacementTest.NothingLandsAfterTheCompletion:Transfer.AnythingHappens:RateTest.*:"
    "PolicyTest.SendersShare*:PolicyTest.ManySmall*";
// Of the transfer engine nothing is under the other tests.
constexpr char kTransferOnly[] =
    "--gtest_filter=ArrivalsTest.*:BalanceTest.*:EngineTest.*:Transfer.*";
constexpr char kTransfer[] = "fabric/async/transfer/";

constexpr char kRdm[] = "sim/rdm/";

// ---- docs/fidelity.md ----

// A row whose behaviour is in none of the suites: its tests need rdma-core.
constexpr char kOfAnotherProgram[] =
    "Completion queues in a program's own memory, given as a dmabuf";

std::string ReadFile(const char* path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// The facts that the simulator claims to have, or has chosen where nothing is known.
std::vector<std::string> FactsThatHold() {
  static const std::regex kRow(R"(\| (.*) \| (modelled|unknown on hardware).* \|)");
  std::vector<std::string> facts;
  std::istringstream page(ReadFile("docs/fidelity.md"));
  for (std::string line; std::getline(page, line);) {
    std::smatch match;
    if (std::regex_match(line, match, kRow)) facts.push_back(match[1]);
  }
  return facts;
}

// GoogleTest's filter for the tests that show these facts, also where they have parameters.
std::string TestsOf(const std::set<std::string>& facts) {
  std::string filter;
  bool within = false;
  std::istringstream file(ReadFile("docs/fidelity_tests.txt"));
  for (std::string line; std::getline(file, line);) {
    const bool test = absl::StartsWith(line, "  ");
    if (!test) within = facts.count(line) != 0;
    if (!test || !within) continue;
    const std::string name = line.substr(2);
    absl::StrAppend(&filter, filter.empty() ? "" : ":", name, ":*/", name, "/*");
  }
  return absl::StrCat("--gtest_filter=", filter);
}

// ---- Running ----

// Against a mutant that waits for ever: it is noticed, too. The tests of a fact take a few seconds.
constexpr coro::Duration kPatience = std::chrono::seconds(120);
constexpr coro::Duration kPatienceForAFact = std::chrono::seconds(40);
// With what has to pass: as long as this test may take.
constexpr coro::Duration kNoLimit = std::chrono::hours(1);

// Runs a suite, or those of its tests that `filter` names, up to the first failure.
absl::StatusOr<harness::ProcessEnd> RunSuite(const char* suite, const std::string& mutant,
                                             const std::string& filter,
                                             coro::Duration patience = kPatience) {
  harness::SubprocessOptions options;
  options.patience = patience;
  // The suite is whole, however this test is sharded, and prints no report.
  options.environment = {{"DRYDOCK_MUTANT", mutant}, {"GTEST_TOTAL_SHARDS", "1"},
                         {"GTEST_SHARD_INDEX", "0"}, {"TEST_TOTAL_SHARDS", "1"},
                         {"TEST_SHARD_INDEX", "0"},  {"TEST_SHARD_STATUS_FILE", ""},
                         {"XML_OUTPUT_FILE", ""},    {"TEST_PREMATURE_EXIT_FILE", ""}};
  return harness::Subprocess::Run(
      {absl::StrCat(kFolder, suite), "--gtest_fail_fast", "--gtest_brief=1", filter}, options);
}

TEST(MutantsTest, ThereAreEnough) {
  auto mutants = LoadMutants(absl::StrCat(kFolder, "mutants.json"));
  ASSERT_THAT(mutants, IsOk());
  EXPECT_GE(mutants->size(), 20u);
}

TEST(MutantsTest, SuitePassesWithoutOne) {
  ASSERT_OK_AND_ASSIGN(const harness::ProcessEnd end, RunSuite("suite", "", kWithout, kNoLimit));
  EXPECT_EQ(end.exit_code, 0) << end;
}

TEST(MutantsTest, TestsOfTheFabricEfaPassWithoutOne) {
  std::set<std::string> facts;
  for (const Mutant& mutant : AllMutants()) {
    if (absl::StartsWith(mutant.file, kRdm)) facts.insert(mutant.fact);
  }
  ASSERT_OK_AND_ASSIGN(const harness::ProcessEnd end,
                       RunSuite("rdm_suite", "", TestsOf(facts), kNoLimit));
  EXPECT_EQ(end.exit_code, 0) << end;
}

TEST(MutantsTest, EveryFactHasOne) {
  std::set<std::string> facts = {kOfAnotherProgram};
  for (const Mutant& mutant : AllMutants()) facts.insert(mutant.fact);
  const std::vector<std::string> hold = FactsThatHold();
  EXPECT_GE(hold.size(), 60u);
  EXPECT_THAT(facts, IsSupersetOf(hold));
}

class MutantTest : public ::testing::TestWithParam<Mutant> {};

// That of a fact is noticed by the tests that docs/fidelity_tests.txt names for it.
TEST_P(MutantTest, IsNoticed) {
  const Mutant& mutant = GetParam();
  std::string filter = kWithout;
  if (absl::StartsWith(mutant.file, kTransfer)) filter = kTransferOnly;
  if (!mutant.fact.empty()) filter = TestsOf({mutant.fact});
  const char* suite = absl::StartsWith(mutant.file, kRdm) ? "rdm_suite" : "suite";
  const auto end =
      RunSuite(suite, mutant.name, filter, mutant.fact.empty() ? kPatience : kPatienceForAFact);
  if (!end.ok()) {
    EXPECT_TRUE(absl::IsDeadlineExceeded(end.status())) << end.status();
    return;
  }
  EXPECT_NE(end->exit_code, 0) << filter << " passes, though " << mutant.says;
  EXPECT_NE(end->exit_code, 127) << *end;
}

INSTANTIATE_TEST_SUITE_P(All, MutantTest, ::testing::ValuesIn(AllMutants()),
                         [](const auto& tested) {
                           std::string name = tested.param.name;
                           for (char& letter : name) letter = letter == '-' ? '_' : letter;
                           return name;
                         });

}  // namespace
}  // namespace drydock::mutants
