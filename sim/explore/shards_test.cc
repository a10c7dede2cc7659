// Shards of an exploration: their files, the results that are left when one is killed, and all of
// them together.

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/sim/explore/explorer.h"
#include "drydock/sim/explore/merge.h"
#include "drydock/sim/explore/results.h"
#include "drydock/sim/explore/shard.h"
#include "drydock/sim/explore/shard_run.h"
#include "drydock/sim/explore/testing/test_scenarios.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::sim::explore {
namespace {

using ::drydock::testing_matchers::IsOk;
using ::drydock::testing_matchers::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Some of everything that a report has: errors, wrong data, points.
Outcome Mixed(Trial& trial) {
  if (trial.seed() % 31 == 0)
    return Outcome::WrongData(absl::StrCat("seed \"", trial.seed(), "\""));
  if (trial.seed() % 7 == 0) return Outcome::Of(absl::InternalError("seven"));
  return Outcome::Of(absl::OkStatus());
}

const TestScenario& MixedScenario() {
  static const TestScenario scenario(Mixed);
  return scenario;
}

ExploreOptions Seeds(std::uint64_t seeds, std::uint64_t first = 1) {
  ExploreOptions options;
  options.seeds = seeds;
  options.first_seed = first;
  options.twice_every = 0;
  return options;
}

ShardOptions Part(std::uint64_t index, std::uint64_t count, std::string file = "") {
  ShardOptions options;
  options.shard = {index, count};
  options.sweep = {{"scenario", "test"}, {"faults", "swarm"}};
  options.file = std::move(file);
  return options;
}

std::string Path(const std::string& name) { return ::testing::TempDir() + name; }

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The file of each of `count` parts of `seeds` seeds, read back.
std::vector<NamedResults> RunParts(std::uint64_t count, const ExploreOptions& options) {
  std::vector<NamedResults> files;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string path = Path(absl::StrCat("part-", i, "-of-", count));
    std::remove(path.c_str());
    const auto ran = ExploreShard(MixedScenario(), options, Part(i, count, path));
    EXPECT_THAT(ran.status(), IsOk());
    files.emplace_back(path, ReadResults(path).value());
  }
  return files;
}

TEST(ShardTest, PartsAreAllSeedsOnce) {
  for (const SeedSpan all : {SeedSpan{1, 1000}, SeedSpan{5, 3}, SeedSpan{0, UINT64_MAX}}) {
    for (const std::uint64_t count : {1, 2, 3, 16, 1000}) {
      std::uint64_t next = all.first;
      for (std::uint64_t i = 0; i < count; ++i) {
        const SeedSpan part = PartOf(all, {i, count});
        EXPECT_EQ(part.first, next);
        EXPECT_LE(part.seeds, all.seeds / count + (all.seeds % count == 0 ? 0 : 1));
        next += part.seeds;
      }
      EXPECT_EQ(next, all.first + all.seeds);
    }
  }
}

TEST(ResultsTest, AreReadAsTheyWereWritten) {
  ASSERT_OK_AND_ASSIGN(Results results, ExploreShard(MixedScenario(), Seeds(200), Part(1, 3)));
  results.report.coverage.points[{fabric::coverage::PointKind::kSometimes, "a"}] = {1, 2, 3};
  results.report.coverage.cells[{"write", "ok", "a/b"}] = 4;
  results.report.rules["storm"] = {1, 2, 3, 4, 5};
  const std::string text = FormatResults(results);
  ASSERT_OK_AND_ASSIGN(const Results read, ParseResults(text));
  EXPECT_EQ(FormatResults(read), text);
  EXPECT_EQ(read.report.counts, results.report.counts);
  EXPECT_EQ(read.report.rules, results.report.rules);
  EXPECT_EQ(read.report.coverage.cells, results.report.coverage.cells);
  EXPECT_EQ(read.part(), results.part());
}

TEST(ResultsTest, NoPartOfAFileIsTaken) {
  ASSERT_OK_AND_ASSIGN(const Results results,
                       ExploreShard(MixedScenario(), Seeds(100), Part(0, 1)));
  const std::string text = FormatResults(results);
  for (std::size_t length = 0; length < text.size(); length += 7) {
    EXPECT_THAT(ParseResults(text.substr(0, length)), StatusIs(absl::StatusCode::kInvalidArgument));
  }
  std::string changed = text;
  changed[text.size() - 20] ^= 1;
  EXPECT_THAT(ParseResults(changed).status().message(), HasSubstr("its checksum is wrong"));
  EXPECT_THAT(ParseResults("drydock-results 2 0 0\n").status().message(),
              HasSubstr("is of version 2: this program reads version 1"));
}

TEST(MergeTest, AnyNumberOfPartsInAnyOrderIsOneReport) {
  const ExploreOptions options = Seeds(400, 3);
  ASSERT_OK_AND_ASSIGN(const Merged one, Merge(RunParts(1, options)));
  EXPECT_EQ(one.report.seeds, 400u);
  EXPECT_EQ(one.report.failures.size(), ExploreReport::kMostFailures);
  for (const std::uint64_t count : {2, 16}) {
    std::vector<NamedResults> files = RunParts(count, options);
    ASSERT_OK_AND_ASSIGN(const Merged forwards, Merge(files));
    std::reverse(files.begin(), files.end());
    ASSERT_OK_AND_ASSIGN(const Merged backwards, Merge(files));
    EXPECT_THAT(forwards.missing, IsEmpty());
    EXPECT_EQ(forwards.report, one.report) << count;
    EXPECT_EQ(backwards.report, one.report) << count;
  }
}

TEST(MergeTest, SaysWhatIsMissing) {
  std::vector<NamedResults> files = RunParts(4, Seeds(100));
  files[3].second.done = 5;
  files.erase(files.begin() + 1);
  ASSERT_OK_AND_ASSIGN(const Merged merged, Merge(files));
  EXPECT_THAT(merged.missing,
              ElementsAre(files[2].first + " has 5 of its 25 seeds", "seeds 26-50 are in no file"));
  ASSERT_OK_AND_ASSIGN(const Merged first, Merge({files[0]}));
  EXPECT_THAT(first.missing, ElementsAre("seeds 26-100 are in no file"));
}

TEST(MergeTest, SweepThatGoesOnIsOne) {
  std::vector<NamedResults> files = RunParts(2, Seeds(100));
  const std::vector<NamedResults> more = RunParts(3, Seeds(50, 101));
  files.insert(files.end(), more.begin(), more.end());
  ASSERT_OK_AND_ASSIGN(const Merged merged, Merge(files));
  EXPECT_THAT(merged.missing, IsEmpty());
  EXPECT_EQ(merged.report.seeds, 150u);
  const std::vector<NamedResults> last = RunParts(1, Seeds(10, UINT64_MAX - 9));
  ASSERT_OK_AND_ASSIGN(const Merged end, Merge(last));
  EXPECT_THAT(end.missing, IsEmpty());
}

TEST(MergeTest, RefusesWhatDoesNotBelongTogether) {
  EXPECT_THAT(Merge({}).status().message(), HasSubstr("no files"));
  std::vector<NamedResults> files = RunParts(2, Seeds(100));
  const std::vector<NamedResults> others = RunParts(3, Seeds(100));
  EXPECT_THAT(Merge({files[0], files[0]}).status().message(), HasSubstr("seed 1 is in "));
  EXPECT_THAT(Merge({files[0], others[1]}).status().message(), HasSubstr("seed 34 is in "));
  files[1].second.sweep["faults"] = "none";
  EXPECT_THAT(Merge(files).status().message(), HasSubstr("by their faults: swarm, none"));
}

TEST(ShardRunTest, GoesOnWhereTheFileEnds) {
  const std::string path = Path("goes-on");
  std::remove(path.c_str());
  const ExploreOptions options = Seeds(300);
  ASSERT_OK_AND_ASSIGN(const Results whole, ExploreShard(MixedScenario(), options, Part(0, 1)));
  ExploreOptions part = options;
  part.seeds = 120;
  ASSERT_OK_AND_ASSIGN(Results some, ExploreShard(MixedScenario(), part, Part(0, 1)));
  some.all = {1, 300};
  ASSERT_THAT(WriteResults(path, some), IsOk());
  std::uint64_t least = UINT64_MAX;
  ExploreOptions rest = options;
  rest.progress = [&](std::uint64_t done) { least = std::min(least, done); };
  ASSERT_OK_AND_ASSIGN(const Results results,
                       ExploreShard(MixedScenario(), rest, Part(0, 1, path)));
  EXPECT_GE(least, 120u);
  EXPECT_EQ(FormatResults(results), FormatResults(whole));
  EXPECT_EQ(ReadAll(path), FormatResults(whole));
}

// A process that is killed at any moment leaves a file that the next one goes on from.
TEST(ShardRunTest, SurvivesEveryKill) {
  const std::string path = Path("killed");
  std::remove(path.c_str());
  const ExploreOptions options = Seeds(3000);
  ASSERT_OK_AND_ASSIGN(const Results whole, ExploreShard(MixedScenario(), options, Part(0, 1)));
  ShardOptions shard = Part(0, 1, path);
  shard.write_every = std::chrono::milliseconds(1);
  int kills = 0;
  int unharmed = 0;
  for (int wait_us = 500;; wait_us += 700) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const bool good = ExploreShard(MixedScenario(), options, shard).ok();
      _exit(good ? 0 : 1);
    }
    usleep(static_cast<useconds_t>(wait_us));
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    if (WIFEXITED(status)) {
      EXPECT_EQ(WEXITSTATUS(status), 0);
      if (kills > 0 || ++unharmed == 20) break;
      // This process had no processor for longer than the other took: once more from the beginning.
      std::remove(path.c_str());
      wait_us = 500 - 700;  // as it was, with the step of the loop
      continue;
    }
    ++kills;
    const absl::StatusOr<Results> left = ReadResults(path);
    if (absl::IsNotFound(left.status())) continue;  // before its first file
    ASSERT_THAT(left.status(), IsOk());
  }
  EXPECT_GE(kills, 1);
  EXPECT_EQ(ReadAll(path), FormatResults(whole));
}

// There may be hours of somebody's work: it is not taken for nothing, and replaced.
TEST(ShardRunTest, ResultsThatCannotBeReadAreNotReplaced) {
  const std::string loop = Path("loop");
  std::remove(loop.c_str());
  ASSERT_EQ(symlink(loop.c_str(), loop.c_str()), 0);
  const std::string folder = Path("folder");
  mkdir(folder.c_str(), 0755);
  for (const std::string& path : {loop, folder}) {
    struct stat before {};
    ASSERT_EQ(lstat(path.c_str(), &before), 0);
    const auto results = ExploreShard(MixedScenario(), Seeds(10), Part(0, 2, path));
    EXPECT_FALSE(results.ok()) << path;
    EXPECT_FALSE(absl::IsNotFound(ReadResults(path).status())) << path;
    struct stat after {};
    ASSERT_EQ(lstat(path.c_str(), &after), 0);
    EXPECT_EQ(after.st_ino, before.st_ino) << path;
  }
}

TEST(ShardRunTest, FileOfSomethingElseIsRefused) {
  const std::string path = Path("else");
  std::remove(path.c_str());
  ASSERT_THAT(ExploreShard(MixedScenario(), Seeds(10), Part(0, 2, path)).status(), IsOk());
  ShardOptions other = Part(0, 2, path);
  other.sweep["faults"] = "none";
  EXPECT_THAT(ExploreShard(MixedScenario(), Seeds(10), other).status().message(),
              HasSubstr("is of another sweep, by its faults: swarm, none"));
  EXPECT_THAT(ExploreShard(MixedScenario(), Seeds(11), Part(0, 2, path)).status().message(),
              HasSubstr("is shard 0/2 of 10 seeds from 1 on"));
  std::filesystem::resize_file(path, 100);
  EXPECT_THAT(ExploreShard(MixedScenario(), Seeds(10), Part(0, 2, path)).status().message(),
              HasSubstr("is cut or was changed"));
  EXPECT_THAT(ExploreShard(MixedScenario(), Seeds(10), Part(0, 2, "/nowhere/file")),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace drydock::sim::explore
