// The program, started as a user starts it, and as its README shows it.

#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "testing/harness/readme.h"
#include "testing/harness/subprocess.h"
#include "testing/matchers/status_matchers.h"

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::testing_matchers::IsOk;
using Json = nlohmann::json;

harness::ProcessEnd Run(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), harness::ProgramPath("GPULOC"));
  absl::StatusOr<harness::ProcessEnd> end = harness::Subprocess::Run(arguments);
  EXPECT_THAT(end, IsOk());
  return end.ok() ? *std::move(end) : harness::ProcessEnd();
}

std::string Output(const std::vector<std::string>& arguments) {
  const harness::ProcessEnd end = Run(arguments);
  EXPECT_EQ(end.exit_code, 0) << end;
  EXPECT_THAT(end.err, IsEmpty());
  return end.out;
}

// One clear line, and 2.
std::string Refusal(const std::vector<std::string>& arguments) {
  const harness::ProcessEnd end = Run(arguments);
  EXPECT_EQ(end.exit_code, 2) << end;
  EXPECT_THAT(end.out, IsEmpty());
  EXPECT_TRUE(absl::StartsWith(end.err, "gpuloc: ")) << end.err;
  EXPECT_EQ(end.err.find('\n'), end.err.size() - 1) << end.err;
  return end.err;
}

// A machine with comments where hwloc's own reader refuses them.
std::string RecordedMachine() {
  std::string xml = Output({"--topology=profile:p5", "--xml"});
  const std::size_t prolog = xml.find('\n') + 1;
  xml.insert(prolog, "<!-- recorded on a machine -->\n\n");
  const std::string path = absl::StrCat(::testing::TempDir(), "/recorded.xml");
  std::ofstream(path) << xml;
  return path;
}

TEST(GpulocTest, ARecordedMachineIsTheSameInEveryFormat) {
  const std::string file = "--topology=" + RecordedMachine();
  const Json json = Json::parse(Output({file, "--json"}));
  EXPECT_EQ(json["machine"], "p5.48xlarge");
  EXPECT_EQ(json["gpus"][7]["nics"], Json({28, 29, 30, 31}));
  EXPECT_THAT(Output({file}), AllOf(StartsWith("machine  p5.48xlarge\nfrom     file "),
                                    HasSubstr("\nGPU 7  other ")));
  EXPECT_THAT(Output({file, "--svg"}), AllOf(HasSubstr("<svg "), HasSubstr("rdmap201s0")));
  EXPECT_EQ(Output({file, "--xml"}), Output({"--topology=profile:p5", "--xml"}));
}

TEST(GpulocTest, ThisMachineIsTheDefault) {
#ifdef DRYDOCK_HAVE_HWLOC
  EXPECT_THAT(Output({}), AllOf(HasSubstr("from     this machine\n"), HasSubstr(" CPU")));
#else
  EXPECT_THAT(Refusal({}), HasSubstr("install libhwloc-dev"));
#endif
}

TEST(GpulocTest, WhatCannotBeIsRefused) {
  EXPECT_THAT(Refusal({"machine.xml"}), HasSubstr("a file is named --topology=FILE"));
  EXPECT_THAT(Refusal({"--json", "--svg"}), HasSubstr("choose one: --json or --svg"));
  EXPECT_THAT(Refusal({"--topology=profile:p9"}), HasSubstr("there are small, p4d, p5"));
  EXPECT_THAT(Refusal({"--topology=/no/such.xml"}), HasSubstr("no such file"));
  EXPECT_THAT(Refusal({"--topology", harness::ProgramPath("GPULOC")}),
              HasSubstr(": line 1: no XML"));
}

TEST(GpulocTest, HelpShowsWhatItTakes) {
  EXPECT_THAT(Output({"--help"}),
              AllOf(StartsWith("gpuloc: shows which"), HasSubstr("--topology\n"),
                    HasSubstr("--json"), HasSubstr("--svg"), HasSubstr("--xml")));
}

TEST(GpulocTest, ReadmeShowsWhatIsPrinted) {
  const std::vector<harness::ReadmeSession> sessions = harness::ReadmeSessions("//apps/gpuloc");
  ASSERT_THAT(sessions, SizeIs(1));
  EXPECT_EQ(Output(sessions[0].arguments), sessions[0].output);
}

TEST(GpulocTest, ReadmeShowsWhatIsDrawn) {
  std::ifstream file(harness::ProgramPath("DRYDOCK_DRAWING"));
  const std::string shown{std::istreambuf_iterator<char>(file), {}};
  EXPECT_TRUE(Output({"--topology=profile:p5en", "--svg"}) == shown)
      << "make it again: ./bazelw run //apps/gpuloc -- --topology=profile:p5en --svg "
         ">apps/gpuloc/p5en.svg";
}

}  // namespace
