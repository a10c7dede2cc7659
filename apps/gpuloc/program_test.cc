// The program, started as a user starts it, and as its README shows it.

#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/testing/harness/readme.h"
#include "drydock/testing/harness/run_program.h"
#include "drydock/testing/harness/subprocess.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;
using Json = nlohmann::json;

constexpr drydock::harness::Program kGpuloc("GPULOC", "gpuloc");

// A machine with comments where hwloc's own reader refuses them.
std::string RecordedMachine() {
  std::string xml = kGpuloc.Output({"--topology=profile:p5", "--xml"});
  const std::size_t prolog = xml.find('\n') + 1;
  xml.insert(prolog, "<!-- recorded on a machine -->\n\n");
  const std::string path = absl::StrCat(::testing::TempDir(), "/recorded.xml");
  std::ofstream(path) << xml;
  return path;
}

TEST(GpulocTest, ARecordedMachineIsTheSameInEveryFormat) {
  const std::string file = "--topology=" + RecordedMachine();
  const Json json = Json::parse(kGpuloc.Output({file, "--json"}));
  EXPECT_EQ(json["machine"], "p5.48xlarge");
  EXPECT_EQ(json["gpus"][7]["nics"], Json({28, 29, 30, 31}));
  EXPECT_THAT(kGpuloc.Output({file}), AllOf(StartsWith("machine  p5.48xlarge\nfrom     file "),
                                            HasSubstr("\nGPU 7  other ")));
  EXPECT_THAT(kGpuloc.Output({file, "--svg"}), AllOf(HasSubstr("<svg "), HasSubstr("rdmap201s0")));
  EXPECT_EQ(kGpuloc.Output({file, "--xml"}), kGpuloc.Output({"--topology=profile:p5", "--xml"}));
}

TEST(GpulocTest, ThisMachineIsTheDefault) {
#ifdef DRYDOCK_HAVE_HWLOC
  EXPECT_THAT(kGpuloc.Output({}), AllOf(HasSubstr("from     this machine\n"), HasSubstr(" CPU")));
#else
  EXPECT_THAT(kGpuloc.Refusal({}), HasSubstr("install libhwloc-dev"));
#endif
}

TEST(GpulocTest, WhatCannotBeIsRefused) {
  EXPECT_THAT(kGpuloc.Refusal({"machine.xml"}), HasSubstr("a file is named --topology=FILE"));
  EXPECT_THAT(kGpuloc.Refusal({"--json", "--svg"}), HasSubstr("choose one: --json or --svg"));
  EXPECT_THAT(kGpuloc.Refusal({"--topology=profile:p9"}), HasSubstr("there are small, p4d, p5"));
  EXPECT_THAT(kGpuloc.Refusal({"--topology=/no/such.xml"}), HasSubstr("no such file"));
  EXPECT_THAT(kGpuloc.Refusal({"--topology", drydock::harness::ProgramPath("GPULOC")}),
              HasSubstr(": line 1: no XML"));
}

TEST(GpulocTest, HelpShowsWhatItTakes) {
  EXPECT_THAT(kGpuloc.Output({"--help"}),
              AllOf(StartsWith("gpuloc: shows which"), HasSubstr("--topology\n"),
                    HasSubstr("--json"), HasSubstr("--svg"), HasSubstr("--xml")));
}

TEST(GpulocTest, ReadmeShowsWhatIsPrinted) {
  const std::vector<drydock::harness::ReadmeSession> sessions =
      drydock::harness::ReadmeSessions("//apps/gpuloc");
  ASSERT_THAT(sessions, SizeIs(1));
  EXPECT_EQ(kGpuloc.Output(sessions[0].arguments), sessions[0].output);
}

TEST(GpulocTest, ReadmeShowsWhatIsDrawn) {
  std::ifstream file(drydock::harness::ProgramPath("DRYDOCK_DRAWING"));
  const std::string shown{std::istreambuf_iterator<char>(file), {}};
  EXPECT_TRUE(kGpuloc.Output({"--topology=profile:p5en", "--svg"}) == shown)
      << "make it again: ./bazelw run //apps/gpuloc -- --topology=profile:p5en --svg "
         ">apps/gpuloc/p5en.svg";
}

}  // namespace
