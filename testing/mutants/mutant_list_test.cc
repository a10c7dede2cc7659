#include "drydock/testing/mutants/mutant_list.h"

#include <fstream>

#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::mutants {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using testing_matchers::IsOkAndHolds;
using testing_matchers::StatusIs;

constexpr auto kBad = absl::StatusCode::kInvalidArgument;

std::vector<Mutant> One() { return {{"name", "a.cc", "", "says", "x < 1", "x < ($ ? 2 : 1)"}}; }

TEST(MutateTest, CodeGetsItsSwitch) {
  EXPECT_THAT(Mutate(One(), "a.cc", "if (x < 1) return;"),
              IsOkAndHolds("#include \"drydock/testing/mutants/active.h\"\n"
                           "if (x < (::drydock::mutants::Active(\"name\") ? 2 : 1)) return;"));
}

TEST(MutateTest, MutantsOfOtherFilesAreLeftOut) {
  EXPECT_THAT(Mutate(One(), "b.cc", "x < 1"),
              IsOkAndHolds("#include \"drydock/testing/mutants/active.h\"\nx < 1"));
}

TEST(MutateTest, CodeThatChangedIsNamed) {
  EXPECT_THAT(Mutate(One(), "a.cc", "x < 3"), StatusIs(kBad, HasSubstr("mutant name")));
  EXPECT_THAT(Mutate(One(), "a.cc", "x < 1, x < 1"), StatusIs(kBad, HasSubstr("exactly once")));
}

std::string Write(const std::string& text) {
  const std::string path = ::testing::TempDir() + "/list.json";
  std::ofstream(path) << text;
  return path;
}

TEST(LoadMutantsTest, ListIsRead) {
  EXPECT_THAT(LoadMutants(Write(R"([{"name": "a", "file": "b", "says": "c", "find": "d",
                                     "replace": "e"}])")),
              IsOkAndHolds(SizeIs(1)));
}

TEST(LoadMutantsTest, AMutantMayBeOfAFact) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Mutant> mutants,
                       LoadMutants(Write(R"([{"name": "a", "file": "b", "fact": "f", "says": "c",
                                              "find": "d", "replace": "e"}])")));
  EXPECT_EQ(mutants[0].fact, "f");
  EXPECT_THAT(LoadMutants(Write(R"([{"name": "a", "file": "b", "fact": "", "says": "c",
                                     "find": "d", "replace": "e"}])")),
              StatusIs(kBad, HasSubstr("no text 'fact'")));
}

TEST(LoadMutantsTest, BadListsAreRefused) {
  EXPECT_THAT(LoadMutants("/nowhere"), StatusIs(absl::StatusCode::kNotFound, HasSubstr("no such")));
  EXPECT_THAT(LoadMutants(Write("{")), StatusIs(kBad, HasSubstr("no JSON array")));
  EXPECT_THAT(LoadMutants(Write("[1]")), StatusIs(kBad, HasSubstr("no mutant: 1")));
  EXPECT_THAT(LoadMutants(Write(R"([{"name": "a", "file": "b", "says": "c", "find": "",
                                     "replace": "e"}])")),
              StatusIs(kBad, HasSubstr("no text 'find'")));
  const std::string same = R"({"name": "a", "file": "b", "says": "c", "find": "d",
                               "replace": "e"})";
  EXPECT_THAT(LoadMutants(Write("[" + same + "," + same + "]")),
              StatusIs(kBad, HasSubstr("two mutants a")));
}

}  // namespace
}  // namespace drydock::mutants
