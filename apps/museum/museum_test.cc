// Every wrong twin is found by what its label says, every repaired one is left alone, and every
// exhibit has a page. A shard takes every Nth exhibit.

#include <fstream>
#include <iterator>
#include <ostream>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "drydock/apps/explore/story_picture.h"
#include "drydock/apps/museum/exhibits.h"
#include "drydock/apps/museum/tour.h"
#include "drydock/sim/explore/capsule.h"
#include "drydock/sim/explore/plan_source.h"
#include "drydock/sim/explore/shrink.h"
#include "drydock/sim/explore/traced_run.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::museum {

void PrintTo(const Exhibit* exhibit, std::ostream* out) { *out << std::string(exhibit->name); }

namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class MuseumTest : public ::testing::TestWithParam<const Exhibit*> {};

TEST_P(MuseumTest, TheWrongTwinIsFoundAndTheRepairedOneIsNot) {
  TourOptions options;
  options.most_seeds = 200;
  options.repaired_seeds = 100;
  const absl::StatusOr<Visit> visited = VisitExhibit(*GetParam(), options);
  ASSERT_TRUE(visited.ok()) << visited.status();
  const Visit& visit = *visited;
  ASSERT_TRUE(visit.found.has_value()) << "not in " << visit.seeds << " seeds";
  EXPECT_TRUE(visit.FoundAsLabelled(*GetParam()))
      << FoundBy(*visit.found) << ": " << visit.found->text << "\n"
      << visit.found->waits;
  EXPECT_EQ(visit.repaired.failed(), 0u);
  for (const auto& [seed, failure] : visit.repaired.failures) {
    ADD_FAILURE() << "repaired, seed " << seed << ": " << FoundBy(failure) << ": " << failure.text;
  }
}

// A file of an exhibit's folder.
std::string FileOf(const Exhibit& exhibit, const char* name) {
  const std::string folder = absl::StrReplaceAll(std::string(exhibit.name), {{"-", "_"}});
  std::ifstream file(absl::StrCat("apps/museum/", folder, "/", name));
  EXPECT_TRUE(file.is_open()) << folder << "/" << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

// Its label and its page.
TEST_P(MuseumTest, HasAPage) {
  const Exhibit& exhibit = *GetParam();
  const std::string page = FileOf(exhibit, "README.md");
  EXPECT_THAT(page, HasSubstr(absl::StrCat("# ", std::string(exhibit.name), "\n")));
  EXPECT_THAT(page, HasSubstr(absl::StrCat("https://github.com/", std::string(exhibit.project))));
  for (const char* heading :
       {"**What happened.**", "**Cause.**", "**What a user saw.**", "**What finds it.**"}) {
    EXPECT_THAT(page, HasSubstr(heading));
  }
  const std::string source = FileOf(exhibit, "program.cc");
  EXPECT_THAT(source, HasSubstr("// WRONG: "));
  EXPECT_THAT(source, HasSubstr("REPAIRED"));
}

std::string NameOf(const ::testing::TestParamInfo<const Exhibit*>& info) {
  return absl::StrReplaceAll(std::string(info.param->name), {{"-", "_"}});
}

INSTANTIATE_TEST_SUITE_P(Exhibits, MuseumTest, ::testing::ValuesIn(Exhibits()), NameOf);

class StoryTest : public ::testing::TestWithParam<const Exhibit*> {};

// The first failure, shrunk and drawn again. README.md has the command that writes the picture.
TEST_P(StoryTest, ThePictureOnItsPageIsUpToDate) {
  TourOptions options;
  options.repaired_seeds = 0;
  const absl::StatusOr<Visit> visit = VisitExhibit(*GetParam(), options);
  ASSERT_TRUE(visit.ok() && visit->found.has_value());
  const TwinScenario& scenario = ScenarioOf(*GetParam(), Twin::kWrong);
  const auto spec = SpecOf(OptionsOf(*GetParam(), options), visit->found->seed);
  const auto run = sim::explore::RunIsolated(scenario, spec);
  ASSERT_TRUE(run.ok()) << run.status();
  const auto shrunk =
      Shrink(scenario, MakeCapsule(scenario, spec, *run), sim::explore::ShrinkOptions{});
  ASSERT_TRUE(shrunk.ok()) << shrunk.status();
  EXPECT_EQ(apps::DrawShrunk(*shrunk), FileOf(*GetParam(), "story.svg"));
  EXPECT_THAT(FileOf(*GetParam(), "README.md"), HasSubstr("](story.svg)"));
}

INSTANTIATE_TEST_SUITE_P(Exhibits, StoryTest,
                         ::testing::Values(&FlagOvertakes(), &HeuristicCount(),
                                           &FailureNeverTold()),
                         NameOf);

TEST(ExhibitsTest, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const Exhibit* exhibit : Exhibits()) {
    EXPECT_TRUE(names.insert(std::string(exhibit->name)).second) << exhibit->name;
    EXPECT_TRUE(sim::explore::CheckPlan(PlansOf(*exhibit).plan(1)).ok()) << exhibit->name;
    EXPECT_THAT(std::string(exhibit->cause), Not(IsEmpty()));
    EXPECT_EQ(FindTwin(ScenarioName(*exhibit, Twin::kRepaired)),
              &ScenarioOf(*exhibit, Twin::kRepaired));
  }
  EXPECT_EQ(FindTwin("museum-nothing"), nullptr);
  EXPECT_FALSE(FindExhibit("nothing").ok());
}

}  // namespace
}  // namespace drydock::museum
