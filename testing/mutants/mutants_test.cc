// The suite passes, and notices every mutant.

#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/harness/subprocess.h"
#include "testing/matchers/status_matchers.h"
#include "testing/mutants/mutant_list.h"

namespace mutants {
namespace {

using ::testing::HasSubstr;
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

// Runs the suite, or those of its tests that `filter` names, up to the first failure. A mutant that
// waits for ever is noticed, too.
absl::StatusOr<harness::ProcessEnd> RunSuite(const std::string& mutant,
                                             const char* filter = kWithout) {
  harness::SubprocessOptions options;
  // The suite is whole, however this test is sharded, and prints no report.
  options.environment = {{"DRYDOCK_MUTANT", mutant}, {"GTEST_TOTAL_SHARDS", "1"},
                         {"GTEST_SHARD_INDEX", "0"}, {"TEST_TOTAL_SHARDS", "1"},
                         {"TEST_SHARD_INDEX", "0"},  {"TEST_SHARD_STATUS_FILE", ""},
                         {"XML_OUTPUT_FILE", ""},    {"TEST_PREMATURE_EXIT_FILE", ""}};
  return harness::Subprocess::Run(
      {absl::StrCat(kFolder, "suite"), "--gtest_fail_fast", "--gtest_brief=1", filter}, options);
}

TEST(MutantsTest, ThereAreEnough) {
  auto mutants = LoadMutants(absl::StrCat(kFolder, "mutants.json"));
  ASSERT_THAT(mutants, IsOk());
  EXPECT_GE(mutants->size(), 20u);
}

TEST(MutantsTest, SuitePassesWithoutOne) {
  ASSERT_OK_AND_ASSIGN(const harness::ProcessEnd end, RunSuite(""));
  EXPECT_EQ(end.exit_code, 0) << end;
}

class MutantTest : public ::testing::TestWithParam<Mutant> {};

TEST_P(MutantTest, IsNoticed) {
  const bool transfer = absl::StartsWith(GetParam().file, kTransfer);
  const auto end = RunSuite(GetParam().name, transfer ? kTransferOnly : kWithout);
  if (!end.ok()) {
    EXPECT_TRUE(absl::IsDeadlineExceeded(end.status())) << end.status();
    return;
  }
  EXPECT_NE(end->exit_code, 0) << "the suite passes, though " << GetParam().says;
  EXPECT_NE(end->exit_code, 127) << *end;
}

TEST_P(MutantTest, IsToldInTheDocuments) {
  std::ifstream stream("docs/testing.md");
  const std::string page(std::istreambuf_iterator<char>(stream), {});
  EXPECT_THAT(page, HasSubstr(absl::StrCat("| `", GetParam().name, "` |")));
}

INSTANTIATE_TEST_SUITE_P(All, MutantTest, ::testing::ValuesIn(AllMutants()),
                         [](const auto& tested) {
                           std::string name = tested.param.name;
                           for (char& letter : name) letter = letter == '-' ? '_' : letter;
                           return name;
                         });

}  // namespace
}  // namespace mutants
