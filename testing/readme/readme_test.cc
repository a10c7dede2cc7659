// README.md makes promises that would rot in silence: that its example is a program that compiles
// and runs, that its main command prints what it shows, and that the page stays short.

#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace {

using ::testing::HasSubstr;

std::string ReadFile(const char* path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.is_open()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

// What stands between the end of `begin` and the next `end`; fails the test where there is none.
std::string Between(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t first = text.find(begin);
  EXPECT_NE(first, std::string::npos) << begin;
  if (first == std::string::npos) return "";
  const std::size_t start = first + begin.size();
  const std::size_t stop = text.find(end, start);
  EXPECT_NE(stop, std::string::npos) << end;
  return text.substr(start, stop - start);
}

// What a program prints; fails the test when it does not end well.
std::string OutputOf(const char* command) {
  std::FILE* pipe = popen(command, "r");
  EXPECT_NE(pipe, nullptr);
  if (pipe == nullptr) return "";
  std::string output;
  std::array<char, 4096> part{};
  while (const std::size_t got = std::fread(part.data(), 1, part.size(), pipe)) {
    output.append(part.data(), got);
  }
  const int status = pclose(pipe);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << command << ": " << status;
  return output;
}

// Times and rates change with the simulator's model, and nobody should have to mend the page for
// that.
std::string WithoutFigures(const std::string& text) {
  return std::regex_replace(text, std::regex("[0-9]+(\\.[0-9]+)?"), "#");
}

// docs/coroutines.md shows a class of a program that runs.
TEST(ReadmeTest, SelectorIsTheFileByteForByte) {
  const std::string page = ReadFile("docs/coroutines.md");
  const std::string shown = Between(page, "the list's.\n\n```cpp\n", "```\n");
  const std::string file = ReadFile("testing/readme/selector_example.cc");
  EXPECT_EQ(shown, Between(file, "readme_test compares them.\n\n", "\n};\n") + "\n};\n");
  std::istringstream lines(shown);
  int count = 0;
  for (std::string line; std::getline(lines, line);) count += line.empty() ? 0 : 1;
  EXPECT_LE(count, 40);
}

TEST(ReadmeTest, SelectorRuns) {
  EXPECT_EQ(OutputOf("testing/readme/selector_example"), "500500\n");
}

TEST(ReadmeTest, ExampleIsTheFileByteForByte) {
  const std::string shown = Between(ReadFile("README.md"), "```cpp\n", "```\n");
  const std::string file = ReadFile("testing/readme/example.cc");
  const std::string marker = "readme_test compares them.\n\n";
  ASSERT_THAT(file, HasSubstr(marker));
  EXPECT_EQ(shown, file.substr(file.find(marker) + marker.size()));
}

TEST(ReadmeTest, ExampleRuns) { EXPECT_EQ(OutputOf("testing/readme/example"), "OK\n"); }

TEST(ReadmeTest, MainCommandPrintsTheLinesShown) {
  const std::string shown =
      Between(ReadFile("README.md"), "same figures every time:\n\n```\n", "```\n");
  const std::string printed = WithoutFigures(OutputOf("apps/write/write --fabric=sim"));
  std::istringstream lines(shown);
  std::size_t from = 0;  // they come in this order
  for (std::string line; std::getline(lines, line);) {
    const std::size_t at = printed.find(WithoutFigures(line) + '\n', from);
    ASSERT_NE(at, std::string::npos) << "not printed: " << line << "\nprinted:\n" << printed;
    from = at;
  }
  EXPECT_GT(from, 0u);
}

TEST(ReadmeTest, PageStaysShort) {
  const std::string readme = ReadFile("README.md");
  EXPECT_LT(std::count(readme.begin(), readme.end(), '\n'), 150);
}

}  // namespace
