#include "drydock/apps/explore/testing/explore_program.h"

#include <fstream>
#include <utility>

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::apps {

using harness::ProcessEnd;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::vector<std::string> ExploreCommand(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), harness::ProgramPath("DRYDOCK_EXPLORE"));
  return arguments;
}

ProcessEnd RunExplore(std::vector<std::string> arguments, Variables variables) {
  harness::SubprocessOptions options;
  options.environment = std::move(variables);
  return harness::Subprocess::Run(ExploreCommand(std::move(arguments)), options).value();
}

std::vector<std::string> Lines(const std::string& text) {
  return absl::StrSplit(text, '\n', absl::SkipEmpty());
}

std::string WriteText(const std::string& name, const std::string& text) {
  const std::string path = ::testing::TempDir() + name;
  std::ofstream(path) << text;
  return path;
}

void ExpectRefused(const std::vector<RefusedArguments>& cases) {
  for (const RefusedArguments& bad : cases) {
    const ProcessEnd end = RunExplore(bad.arguments);
    EXPECT_EQ(end.exit_code, 2) << end;
    EXPECT_EQ(end.out, "");
    EXPECT_THAT(Lines(end.err),
                ElementsAre(AllOf(StartsWith("explore: "), HasSubstr(bad.complaint))));
  }
}

}  // namespace drydock::apps
