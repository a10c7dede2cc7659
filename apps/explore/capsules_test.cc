// Every capsule of the folder capsules/ comes to the same verdict, bit for bit. README.md says how
// they are recorded again when a change of the simulator is meant to change them.

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "drydock/apps/explore/scenarios.h"
#include "drydock/sim/explore/capsule.h"
#include "drydock/sim/explore/capsule_json.h"
#include "drydock/sim/explore/replay.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::apps {
namespace {

std::vector<std::string> Paths() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator("apps/explore/capsules")) {
    if (entry.path().extension() == ".capsule") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

class CapsulesTest : public ::testing::TestWithParam<std::string> {};

TEST_P(CapsulesTest, ReplaysBitForBit) {
  ASSERT_OK_AND_ASSIGN(const auto capsule, sim::explore::ReadCapsule(GetParam()));
  ASSERT_OK_AND_ASSIGN(const auto* scenario, FindScenario(capsule.scenario));
  ASSERT_OK_AND_ASSIGN(const auto replay, ReplayCapsule(*scenario, capsule));
  EXPECT_TRUE(replay.exact()) << "seed " << capsule.run.seed << ": " << replay.what << "\n"
                              << replay.run.result.text;
}

INSTANTIATE_TEST_SUITE_P(All, CapsulesTest, ::testing::ValuesIn(Paths()), [](const auto& test) {
  std::string name = std::filesystem::path(test.param).stem().string();
  for (char& letter : name) letter = letter == '-' ? '_' : letter;
  return name;
});

TEST(CapsuleFilesTest, ThereAreSomeOfFailuresAndSomeOfWhatHolds) {
  int failing = 0;
  int fine = 0;
  for (const std::string& path : Paths()) {
    ASSERT_OK_AND_ASSIGN(const auto capsule, sim::explore::ReadCapsule(path));
    (IsFailure(capsule.result.verdict) ? failing : fine) += 1;
  }
  EXPECT_GE(failing, 2);
  EXPECT_GE(fine, 5);
}

}  // namespace
}  // namespace drydock::apps
