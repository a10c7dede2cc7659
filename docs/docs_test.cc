// The pages keep what they promise: links lead to files, targets and pages that are named exist,
// rows of tables can be read, no page tells its own history, and MODULE.bazel gives every
// repository that a BUILD file asks for.
//
// Reads the source tree itself, not copies of it, so that a new page is looked at without being
// listed anywhere. For that the test runs where the tree is, and always (see BUILD).

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Where the source tree is: Bazel's link to the page at its root leads there.
fs::path Root() { return fs::canonical("README.md").parent_path(); }

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.is_open()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

bool IsTextOfOurs(const fs::path& path) {
  static const std::set<std::string> kNames = {"BUILD", "WORKSPACE", "bazelw", "run", ".bazelrc"};
  static const std::set<std::string> kEndings = {".md", ".h", ".cc", ".cu", ".cuh", ".bzl", ".sh"};
  return kNames.count(path.filename()) > 0 || kEndings.count(path.extension()) > 0;
}

// Every text file of the tree, relative to its root; what Bazel and Git keep beside them is left
// out.
std::vector<fs::path> TextFiles() {
  std::vector<fs::path> files;
  const fs::path root = Root();
  fs::recursive_directory_iterator entries(root), end;
  for (; entries != end; ++entries) {
    const std::string name = entries->path().filename();
    const bool skipped = name.starts_with("bazel-") || (name.starts_with(".") && name != ".ci");
    if (entries->is_directory() && skipped) {
      entries.disable_recursion_pending();
    } else if (entries->is_regular_file() && IsTextOfOurs(entries->path())) {
      files.push_back(fs::relative(entries->path(), root));
    }
  }
  return files;
}

std::vector<fs::path> FilesNamed(const std::string& ending) {
  std::vector<fs::path> files;
  for (const fs::path& file : TextFiles()) {
    if (file.string().ends_with(ending)) files.push_back(file);
  }
  EXPECT_THAT(files, Not(IsEmpty()));
  return files;
}

// A page without its code: there, brackets mean other things.
std::string Prose(const std::string& page) {
  static const std::regex kCode("```[^]*?```|`[^`\n]*`");
  return std::regex_replace(page, kCode, "");
}

// Calls `visit(match)` for every match of `pattern`.
template <typename Visit>
void ForEachMatch(const std::string& text, const std::regex& pattern, Visit visit) {
  for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match) {
    visit(*match);
  }
}

// The links of a page to files of ours, relative to the root, with what stands behind "#".
struct Link {
  fs::path file;
  std::string heading;
};

std::vector<Link> LinksOf(const fs::path& page) {
  static const std::regex kLink("\\]\\(([^)#\\s]*)(?:#([^)\\s]*))?\\)");
  static const std::regex kElsewhere("[a-z]+:.*");
  std::vector<Link> links;
  ForEachMatch(Prose(ReadFile(Root() / page)), kLink, [&](const std::smatch& match) {
    const std::string target = match[1];
    if (std::regex_match(target, kElsewhere)) return;
    const fs::path file = target.empty() ? page : page.parent_path() / target;
    links.push_back({file.lexically_normal(), match[2]});
  });
  return links;
}

// The names by which a page's headings can be linked to, as the usual viewers make them.
std::set<std::string> HeadingsOf(const fs::path& page) {
  static const std::regex kHeading("(?:^|\n)#+ ([^\n]*)");
  std::set<std::string> names;
  ForEachMatch(ReadFile(Root() / page), kHeading, [&](const std::smatch& match) {
    std::string name;
    for (const char c : match[1].str()) {
      const auto letter = static_cast<unsigned char>(c);
      if (std::isalnum(letter) != 0 || c == '-' || c == '_') {
        name += static_cast<char>(std::tolower(letter));
      }
      if (c == ' ') name += '-';
    }
    names.insert(name);
  });
  return names;
}

TEST(DocsTest, EveryLinkLeadsSomewhere) {
  for (const fs::path& page : FilesNamed(".md")) {
    for (const Link& link : LinksOf(page)) {
      EXPECT_TRUE(fs::exists(Root() / link.file)) << page << " links to " << link.file;
      if (link.heading.empty() || !fs::exists(Root() / link.file)) continue;
      EXPECT_EQ(HeadingsOf(link.file).count(link.heading), 1u)
          << page << " links to the heading #" << link.heading << " of " << link.file;
    }
  }
}

TEST(DocsTest, EveryPageOfDocsIsLinkedFromAnother) {
  std::set<fs::path> linked;
  for (const fs::path& page : FilesNamed(".md")) {
    for (const Link& link : LinksOf(page)) {
      if (link.file != page) linked.insert(link.file);
    }
  }
  for (const fs::path& page : FilesNamed(".md")) {
    if (!page.string().starts_with("docs/")) continue;
    EXPECT_EQ(linked.count(page), 1u) << "no page links to " << page;
  }
}

// Calls `visit(line, number)` for every line of a page.
template <typename Visit>
void ForEachLine(const fs::path& page, Visit visit) {
  std::istringstream lines(ReadFile(Root() / page));
  int number = 0;
  for (std::string line; std::getline(lines, line);) visit(line, ++number);
}

// In characters: a byte that continues one of UTF-8 is none.
std::size_t CharactersOf(const std::string& line) {
  return static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

TEST(DocsTest, RowsOfTablesAreShort) {
  int rows = 0;
  for (const fs::path& page : FilesNamed(".md")) {
    ForEachLine(page, [&](const std::string& line, int number) {
      if (!line.starts_with('|')) return;
      ++rows;
      EXPECT_LT(CharactersOf(line), 200u)
          << page << ":" << number << ": make it a list, or a data file that the page links";
    });
  }
  EXPECT_GT(rows, 100);
}

// The history of a text: what a reader of the present does not need.
const std::regex& HistoryPhrase() {
  static const std::regex kPhrase(
      "\\b(former|formerly|previously|originally|until recently|used to be|was \\d+|were \\d+|"
      "no longer (needed|used|supported)|has been (renamed|replaced|moved|removed)|"
      "(in|since) an? (earlier|older|previous) (version|commit|revision)|seed "
      "(program|document)s?)\\b",
      std::regex::icase);
  return kPhrase;
}

TEST(DocsTest, HistoryIsRecognised) {
  for (const std::string text : {"the machine of the former tables", "it was 56 once",
                                 "Previously a list.", "as in the seed program"}) {
    EXPECT_TRUE(std::regex_search(text, HistoryPhrase())) << text;
  }
  EXPECT_FALSE(std::regex_search("A transformer performs 56 operations.", HistoryPhrase()));
}

// The commit log and CHANGELOG.md have it, and each decision its reasons.
TEST(DocsTest, NoPageTellsItsHistory) {
  for (const fs::path& page : FilesNamed(".md")) {
    if (page == "CHANGELOG.md" || page.string().starts_with("docs/decisions/")) continue;
    ForEachLine(page, [&](const std::string& line, int number) {
      std::smatch match;
      EXPECT_FALSE(std::regex_search(line, match, HistoryPhrase()))
          << page << ":" << number << ": " << match.str();
    });
  }
}

TEST(DocsTest, ReadmeLinksThePagesForContributors) {
  std::set<fs::path> linked;
  for (const Link& link : LinksOf("README.md")) linked.insert(link.file);
  for (const char* const page : {"CONTRIBUTING.md", "docs/style.md", "docs/glossary.md",
                                 "CHANGELOG.md", "SECURITY.md", "LICENSE"}) {
    EXPECT_EQ(linked.count(page), 1u) << page;
  }
}

// Whether a BUILD file has a target or a file of this name. Names that a loop makes count when
// their ending is written there as `+ "_ending"`.
bool HasTarget(const fs::path& package, const std::string& name) {
  static const std::regex kLoopName("\\+ \"(\\w+)\"");
  const std::string build = ReadFile(Root() / package / "BUILD");
  bool found =
      build.find('"' + name + '"') != std::string::npos || fs::exists(Root() / package / name);
  ForEachMatch(build, kLoopName,
               [&](const std::smatch& match) { found |= name.ends_with(match[1].str()); });
  return found;
}

TEST(DocsTest, EveryTargetThatAPageNamesExists) {
  // Not a URL, not another repository's. NAME and other words in capitals stand for any target.
  static const std::regex kTarget(
      "(?:^|[^:/\\w@])//((?:[a-z0-9_]+/?)*)(\\.\\.\\.)?(?::([a-z0-9_.-]+))?");
  int named = 0;
  for (const fs::path& page : FilesNamed(".md")) {
    ForEachMatch(ReadFile(Root() / page), kTarget, [&](const std::smatch& match) {
      if (match[1].length() == 0 && !match[2].matched && !match[3].matched) return;
      const fs::path package = fs::path(match[1].str() + "/").parent_path();
      ++named;
      if (match[2].matched) {
        EXPECT_TRUE(fs::is_directory(Root() / package)) << page << " names " << match[0];
        return;
      }
      ASSERT_TRUE(fs::exists(Root() / package / "BUILD")) << page << " names " << match[0];
      if (match[3] == "all" || (!match[3].matched && match.suffix().str().starts_with(":"))) return;
      const std::string name = match[3].matched ? match[3].str() : package.filename().string();
      EXPECT_TRUE(HasTarget(package, name)) << page << " names " << match[0];
    });
  }
  EXPECT_GT(named, 10);
}

// The recipes of schedulers start what an image or a package has.
TEST(DocsTest, RecipesOfSweepsNameCommandsThatAreInstalled) {
  const std::string image = ReadFile(Root() / "containers/Dockerfile");
  const std::string packages = ReadFile(Root() / "packaging/programs.txt");
  std::smatch programs;  // of the loop that installs them
  ASSERT_TRUE(std::regex_search(image, programs, std::regex("for program in ([a-z ]+);")));
  const std::string installed = " " + programs[1].str() + " ";
  static const std::regex kCommand(R"re((?:srun |command"?: \["?)([\w-]+)(?: (\w+))?)re");
  int commands = 0;
  ForEachMatch(ReadFile(Root() / "docs/sweeps.md"), kCommand, [&](const std::smatch& match) {
    ++commands;
    const std::string word = match[1];
    if (word == "drydock") {
      EXPECT_NE(packages.find("\n" + match[2].str() + "|"), std::string::npos) << match[0];
    } else {
      ASSERT_TRUE(word.starts_with("drydock-")) << match[0];
      EXPECT_NE(installed.find(" " + word.substr(8) + " "), std::string::npos) << match[0];
    }
  });
  EXPECT_EQ(commands, 3);
}

// Which forms a program's result has, and which flags go with it: one table tells it of all.
TEST(DocsTest, TheTableOfReportsNamesEveryProgram) {
  const std::string reports = ReadFile(Root() / "apps/common/report/README.md");
  int programs = 0;
  ForEachMatch(ReadFile(Root() / "packaging/programs.txt"), std::regex("\\|apps/([a-z_]+)\\|"),
               [&](const std::smatch& match) {
                 ++programs;
                 const std::regex row("\n\\|[a-z_, ]* " + match[1].str() + "[ ,]");
                 EXPECT_TRUE(std::regex_search(reports, row)) << match[1] << " has no row";
               });
  EXPECT_GT(programs, 15);
}

// A table that is headed "File" is the way into its folder: no header is missing.
TEST(DocsTest, TablesOfFilesNameEveryHeader) {
  const std::regex file_table(R"((^|\n)\| File \|)");
  for (const fs::path& page : FilesNamed("README.md")) {
    const std::string text = ReadFile(Root() / page);
    if (!std::regex_search(text, file_table)) continue;
    for (const auto& entry : fs::directory_iterator((Root() / page).parent_path())) {
      const std::string name = entry.path().filename().string();
      if (entry.path().extension() != ".h") continue;
      EXPECT_NE(text.find(name), std::string::npos) << page << " does not name " << name;
    }
  }
}

// A coroutine cannot `return`, as the plain macros do: who copies such an example cannot compile
// it.
TEST(DocsTest, ExamplesThatAwaitReturnAsCoroutinesDo) {
  static const std::regex kPlain("[^_](ASSIGN_OR_RETURN|RETURN_IF_ERROR)\\(");
  static const std::string kBegin = "```cpp";
  for (const fs::path& path : TextFiles()) {
    if (path.extension() != ".md") continue;
    const std::string text = ReadFile(Root() / path);
    std::size_t end = 0;
    for (std::size_t at = text.find(kBegin); at != text.npos; at = text.find(kBegin, end)) {
      end = text.find("```", at + kBegin.size());
      const std::string code = text.substr(at, end - at);
      if (code.find("co_await") == code.npos) continue;
      EXPECT_FALSE(std::regex_search(code, kPlain)) << path << ":" << code;
    }
  }
}

TEST(DocsTest, EveryPageOfDocsThatATextNamesExists) {
  static const std::regex kPage("(?:^|[^/\\w])(docs/(?:decisions/)?[\\w-]+\\.md)");
  for (const fs::path& file : TextFiles()) {
    ForEachMatch(ReadFile(Root() / file), kPage, [&](const std::smatch& match) {
      EXPECT_TRUE(fs::exists(Root() / match[1].str())) << file << " names " << match[1];
    });
  }
}

TEST(DocsTest, ModuleFileGivesEveryRepositoryOfTheBuildFiles) {
  static const std::regex kRepository("\"@(\\w+)");
  std::set<std::string> asked;
  for (const std::string ending : {"BUILD", ".bzl"}) {
    for (const fs::path& file : FilesNamed(ending)) {
      // These declare repositories for a Bazel that does not read MODULE.bazel, and name one of
      // the modules that stand in for others.
      static const std::set<fs::path> kOthers = {"bazel/packaged.bzl", "bazel/system.bzl",
                                                 "bazel/stand_ins.bzl"};
      if (kOthers.count(file) > 0) continue;
      ForEachMatch(ReadFile(Root() / file), kRepository,
                   [&](const std::smatch& match) { asked.insert(match[1]); });
    }
  }
  asked.erase("bazel_tools");  // part of Bazel
  const std::string module = ReadFile(Root() / "MODULE.bazel");
  for (const std::string& name : asked) {
    EXPECT_NE(module.find('"' + name + '"'), std::string::npos) << "MODULE.bazel lacks @" << name;
  }
  EXPECT_THAT(asked, SizeIs(::testing::Ge(6)));
}

}  // namespace
