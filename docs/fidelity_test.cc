// docs/fidelity.md names only tests that exist, and claims nothing without one.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Where the source tree is: Bazel's link to the page leads there.
fs::path Docs() { return fs::canonical("docs/fidelity.md").parent_path(); }

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.is_open()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Row {
  std::string fact, state, tests;
};

std::vector<Row> Rows() {
  static const std::regex kRow(R"(\| (.*) \| (.*) \| (.*) \|)");
  std::vector<Row> rows;
  std::istringstream page(ReadFile(Docs() / "fidelity.md"));
  for (std::string line; std::getline(page, line);) {
    std::smatch match;
    if (!std::regex_match(line, match, kRow) || match[1] == "Fact") continue;
    rows.push_back({match[1], match[2], match[3]});
  }
  return rows;
}

TEST(FidelityTest, EveryRowHasAState) {
  const std::vector<Row> rows = Rows();
  EXPECT_GE(rows.size(), 60u);
  for (const Row& row : rows) {
    EXPECT_THAT(row.state, AnyOf(StartsWith("modelled"), StartsWith("approximated"),
                                 StartsWith("not modelled"), StartsWith("unknown on hardware")))
        << row.fact;
  }
}

TEST(FidelityTest, WhatIsClaimedIsShownByATest) {
  for (const Row& row : Rows()) {
    if (row.state.rfind("not modelled", 0) == 0) continue;
    EXPECT_THAT(row.tests, HasSubstr("](../")) << row.fact;
  }
}

TEST(FidelityTest, NamedTestsExist) {
  static const std::regex kLink(R"(\[(\w+)\.(\w+)\]\(([^)]*)\))");
  for (const Row& row : Rows()) {
    for (std::sregex_iterator link(row.tests.begin(), row.tests.end(), kLink), end; link != end;
         ++link) {
      const std::string suite = (*link)[1], test = (*link)[2], file = (*link)[3];
      const std::regex definition("\\nTEST(_F|_P)?\\(" + suite + ",\\s*" + test + "\\)");
      const std::string source = ReadFile(Docs() / file);
      EXPECT_TRUE(std::regex_search(source, definition))
          << row.fact << ": " << file << " has no " << suite << "." << test;
    }
  }
}

}  // namespace
