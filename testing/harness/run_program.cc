#include "drydock/testing/harness/run_program.h"

#include <utility>

#include "absl/status/statusor.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::harness {

std::vector<std::string> Program::Command(std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), ProgramPath(variable_));
  return arguments;
}

ProcessEnd Program::Run(std::vector<std::string> arguments) const {
  SubprocessOptions options;
  if (!offers_efa_) options.environment = {{"FI_PROVIDER", "^efa"}};
  absl::StatusOr<ProcessEnd> end = Subprocess::Run(Command(std::move(arguments)), options);
  EXPECT_THAT(end, testing_matchers::IsOk());
  return end.ok() ? *std::move(end) : ProcessEnd();
}

std::string Program::Output(const std::vector<std::string>& arguments) const {
  const ProcessEnd end = Run(arguments);
  EXPECT_EQ(end.exit_code, 0) << end;
  EXPECT_THAT(end.err, ::testing::IsEmpty());
  return end.out;
}

std::string Program::Refusal(const std::vector<std::string>& arguments) const {
  const ProcessEnd end = Run(arguments);
  EXPECT_EQ(end.exit_code, 2) << end;
  EXPECT_THAT(end.out, ::testing::IsEmpty());
  EXPECT_THAT(end.err, ::testing::StartsWith(std::string(name_) + ": "));
  EXPECT_EQ(end.err.find('\n'), end.err.size() - 1) << end.err;
  return end.err;
}

}  // namespace drydock::harness
