// The folders of sim include each other in one direction only: each those that come before it in
// the order below, which docs/architecture.md draws. Those of gpu/gda likewise.
//
// Reads the source tree itself, so that a new file or folder is looked at without being listed.

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// A folder may include those of the levels before its own, not its neighbours.
const std::vector<std::vector<std::string>> kLevels = {
    {"profile", "virtual_time"},
    {"events"},
    {"memory", "network", "topology"},
    {"device"},
    {"checks", "faults", "machine"},
    {"world"},
    {"driver"},
    {"cluster"},
    {"coverage", "hosts", "model", "rdm", "tracing"},
    {"capture", "explore", "verbs"}};

constexpr int kUnknown = -1;

// Files right in sim (random.h, efa_address.h, ...) come before all folders.
int LevelOf(const std::string& folder) {
  if (folder.empty()) return 0;
  for (std::size_t level = 0; level < kLevels.size(); ++level) {
    for (const std::string& name : kLevels[level]) {
      if (name == folder) return static_cast<int>(level) + 1;
    }
  }
  return kUnknown;
}

// "sim/device/nic.h": device; "sim/random.h": none.
std::string FolderOf(const fs::path& file) {
  auto part = std::next(file.begin());
  return std::next(part) == file.end() ? "" : part->string();
}

// Why `file` may not include `included`; empty: it may. sim/testing may include everything, and
// is testonly: Bazel keeps what is not from including it.
std::string Objection(const fs::path& file, const fs::path& included) {
  const std::string from = FolderOf(file), to = FolderOf(included);
  if (from == to || from == "testing" || to == "testing") return "";
  if (LevelOf(from) == kUnknown) return "the order of folders lacks sim/" + from;
  if (LevelOf(to) == kUnknown) return "the order of folders lacks sim/" + to;
  if (LevelOf(to) < LevelOf(from)) return "";
  return file.string() + " includes " + included.string() + ", which is not below it";
}

// Where the source tree is: Bazel's link to the page leads there.
fs::path Root() { return fs::canonical("docs/architecture.md").parent_path().parent_path(); }

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.is_open()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(IncludeGraphTest, ObjectsToWhatIsNotBelow) {
  EXPECT_THAT(Objection("sim/device/nic.h", "sim/random.h"), IsEmpty());
  EXPECT_THAT(Objection("sim/device/nic.h", "sim/device/operation.h"), IsEmpty());
  EXPECT_THAT(Objection("sim/explore/strategy/pct.h", "sim/events/scheduler.h"), IsEmpty());
  EXPECT_THAT(Objection("sim/device/nic.h", "sim/world/world.h"), HasSubstr("is not below it"));
  EXPECT_THAT(Objection("sim/machine/numa.h", "sim/checks/checks.h"), HasSubstr("is not below it"));
  EXPECT_THAT(Objection("sim/random.h", "sim/profile/profile.h"), HasSubstr("is not below it"));
  EXPECT_THAT(Objection("sim/nowhere/x.h", "sim/random.h"), HasSubstr("lacks sim/nowhere"));
}

// A header is none, whatever its name: others include it.
bool IsTest(const fs::path& file) { return file.filename().string().ends_with("_test.cc"); }

TEST(IncludeGraphTest, ATestIsASourceOfThatName) {
  EXPECT_TRUE(IsTest("sim/device/nic_test.cc"));
  EXPECT_FALSE(IsTest("sim/device/nic.cc"));
  EXPECT_FALSE(IsTest("sim/device/nic_test.h"));
}

// Calls `visit` with each file below a folder and each file of `others` that it includes. Tests put
// together what they need, so their own sources are left out.
void ForEachInclude(const std::string& folder, const std::string& others,
                    const std::function<void(const fs::path&, const std::string&)>& visit) {
  const std::regex kInclude("(?:^|\n)#include \"drydock/(" + others + "/[^\"]*)\"");
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(Root() / folder)) {
    const fs::path file = fs::relative(entry.path(), Root());
    const std::string extension = file.extension();
    if ((extension != ".h" && extension != ".cc") || IsTest(file)) continue;
    const std::string text = ReadFile(entry.path());
    for (std::sregex_iterator include(text.begin(), text.end(), kInclude), end; include != end;
         ++include) {
      visit(file, (*include)[1].str());
    }
  }
}

TEST(IncludeGraphTest, FoldersOfSimIncludeOnlyThoseBelow) {
  int looked_at = 0;
  ForEachInclude("sim", "sim", [&](const fs::path& file, const std::string& included) {
    ++looked_at;
    EXPECT_EQ(Objection(file, included), "");
  });
  EXPECT_GT(looked_at, 500);
}

TEST(IncludeGraphTest, SimAndGpuMeetInTwoPlaces) {
  int looked_at = 0;
  ForEachInclude("sim", "gpu", [&](const fs::path& file, const std::string& included) {
    ++looked_at;
    EXPECT_THAT(file.string(), StartsWith("sim/topology/")) << included;
    EXPECT_THAT(included, StartsWith("gpu/topology/")) << file;
  });
  ForEachInclude("gpu", "sim", [&](const fs::path& file, const std::string& included) {
    ++looked_at;
    EXPECT_THAT(file.string(), StartsWith("gpu/gda/")) << included;
  });
  EXPECT_GT(looked_at, 10);
}

// The queues that a device drives, then the operations on them, then the machines that run both.
TEST(IncludeGraphTest, FoldersOfGdaIncludeOnlyThoseBelow) {
  int looked_at = 0;
  ForEachInclude("gpu/gda/queue", "gpu/gda",
                 [&](const fs::path& file, const std::string& included) {
                   ++looked_at;
                   EXPECT_THAT(included, StartsWith("gpu/gda/queue/")) << file;
                 });
  ForEachInclude(
      "gpu/gda/device", "gpu/gda", [&](const fs::path& file, const std::string& included) {
        if (file.string().starts_with("gpu/gda/device/testing/")) return;
        ++looked_at;
        EXPECT_THAT(included, AnyOf(StartsWith("gpu/gda/device/"), StartsWith("gpu/gda/queue/")))
            << file;
      });
  EXPECT_GT(looked_at, 20);
}

TEST(IncludeGraphTest, ThePageDrawsTheOrder) {
  std::string order;
  for (const std::vector<std::string>& level : kLevels) {
    if (!order.empty()) order += " ← ";
    for (const std::string& name : level) order += (&name == &level.front() ? "" : ", ") + name;
  }
  EXPECT_NE(ReadFile(Root() / "docs/architecture.md").find(order), std::string::npos) << order;
}

}  // namespace
