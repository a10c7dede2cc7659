// docs/fidelity.md claims nothing without a test, and the tests that docs/fidelity_tests.txt names
// exist, wherever they lie in the tree.

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using ::testing::StartsWith;

// Where the source tree is: Bazel's link to the page leads there.
fs::path Docs() { return fs::canonical("docs/fidelity.md").parent_path(); }

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.is_open()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Row {
  std::string fact, state;
};

std::vector<Row> Rows() {
  static const std::regex kRow(R"(\| (.*) \| (.*) \|)");
  std::vector<Row> rows;
  std::istringstream page(ReadFile(Docs() / "fidelity.md"));
  for (std::string line; std::getline(page, line);) {
    std::smatch match;
    if (!std::regex_match(line, match, kRow) || match[1] == "Fact") continue;
    rows.push_back({match[1], match[2]});
  }
  return rows;
}

// The tests of each fact, each as Suite.Test.
std::map<std::string, std::vector<std::string>> TestsOfFacts() {
  std::map<std::string, std::vector<std::string>> tests;
  std::istringstream file(ReadFile(Docs() / "fidelity_tests.txt"));
  std::string fact;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.starts_with("#")) continue;
    if (!line.starts_with("  ")) {
      fact = line;
      EXPECT_TRUE(tests.emplace(fact, std::vector<std::string>()).second) << "twice: " << fact;
    } else {
      tests[fact].push_back(line.substr(2));
    }
  }
  return tests;
}

// Adds the tests that a source defines, each as Suite.Test.
void AddTestsOf(const std::string& source, std::set<std::string>& tests) {
  for (std::size_t at = source.find("\nTEST"); at != std::string::npos;
       at = source.find("\nTEST", at + 1)) {
    const std::size_t open = source.find('(', at), close = source.find(')', at);
    if (open == std::string::npos || close == std::string::npos) return;
    std::string name;
    for (const char c : source.substr(open + 1, close - open - 1)) {
      if (c != ' ' && c != '\n') name += c == ',' ? '.' : c;
    }
    tests.insert(name);
  }
}

std::set<std::string> TestsOfTheTree() {
  std::set<std::string> tests;
  fs::recursive_directory_iterator entries(Docs().parent_path()), end;
  for (; entries != end; ++entries) {
    const std::string name = entries->path().filename();
    if (entries->is_directory() && (name.starts_with("bazel-") || name.starts_with("."))) {
      entries.disable_recursion_pending();
    } else if (entries->path().extension() == ".cc") {
      AddTestsOf('\n' + ReadFile(entries->path()), tests);
    }
  }
  return tests;
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
  const auto tests = TestsOfFacts();
  for (const Row& row : Rows()) {
    if (row.state.starts_with("not modelled")) continue;
    const auto shown_by = tests.find(row.fact);
    EXPECT_TRUE(shown_by != tests.end() && !shown_by->second.empty()) << row.fact;
  }
}

TEST(FidelityTest, EveryFactWithTestsIsARow) {
  std::set<std::string> facts;
  for (const Row& row : Rows()) facts.insert(row.fact);
  for (const auto& [fact, tests] : TestsOfFacts()) EXPECT_EQ(facts.count(fact), 1u) << fact;
}

TEST(FidelityTest, NamedTestsExist) {
  const std::set<std::string> exist = TestsOfTheTree();
  for (const auto& [fact, tests] : TestsOfFacts()) {
    for (const std::string& test : tests) EXPECT_EQ(exist.count(test), 1u) << fact << ": " << test;
  }
}

}  // namespace
