// The program as a user starts it, and what its README shows of it.

#include <string>
#include <vector>

#include "drydock/testing/harness/readme.h"
#include "drydock/testing/harness/run_program.h"
#include "drydock/testing/harness/subprocess.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace drydock::apps::dmabuf {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr harness::Program kDmabuf = harness::Program("DRYDOCK_DMABUF", "dmabuf").WithoutEfa();

TEST(DmabufTest, TheDataIsCorrectHoweverItIsRegistered) {
  EXPECT_THAT(kDmabuf.Output({"--device=host", "--num-pages=2", "--register=dmabuf"}),
              AllOf(HasSubstr("registered by dmabuf\n"), EndsWith("\nData is correct\n")));
  EXPECT_THAT(kDmabuf.Output({"--device=host", "--num-pages=2", "--register=address"}),
              AllOf(HasSubstr("registered by address\n"), EndsWith("\nData is correct\n")));
}

// What the program shows on the host, it shows on a device: the check looks at the device's bytes.
TEST(DmabufTest, TrustingTheLastWriteIsWrongThereToo) {
  const harness::ProcessEnd end = kDmabuf.Run({"--device=host", "--completion=last", "--seed=1"});
  EXPECT_EQ(end.exit_code, 1);
  EXPECT_THAT(end.out, HasSubstr("\nData is wrong: "));
}

TEST(DmabufTest, BandwidthIsForScriptsToo) {
  const auto json = nlohmann::json::parse(
      kDmabuf.Output({"--bandwidth", "--device=host", "--bytes=65536", "--repeats=3", "--json"}));
  EXPECT_EQ(json["correct"], true);
  EXPECT_EQ(json["bytes"], 65536);
  EXPECT_GT(json["ratio"], 0);
  EXPECT_THAT(kDmabuf.Output({"--bandwidth", "--device=host", "--bytes=65536", "--repeats=3"}),
              AllOf(HasSubstr("\nratio "), EndsWith("\nData is correct\n")));
}

// On a GPU, by hand: the same command with --device=cuda:0.
TEST(DmabufTest, EveryKindOfMemoryHasTheVerdictOfAGpu) {
  const std::string text = kDmabuf.Output({"--kinds", "--device=host"});
  EXPECT_THAT(text, EndsWith("\n41 cases on host: all as expected\n"));
  const auto json = nlohmann::json::parse(kDmabuf.Output({"--kinds", "--device=host", "--json"}));
  ASSERT_EQ(json["rows"].size(), 41u);
  for (const auto& row : json["rows"]) EXPECT_EQ(row["same"], true) << row;
}

TEST(DmabufTest, WhatCannotBeIsRefused) {
  EXPECT_THAT(kDmabuf.Refusal({"--device=tpu"}), HasSubstr("host, cuda:0"));
  EXPECT_THAT(kDmabuf.Refusal({"--device=cuda:1000"}),
              AnyOf(HasSubstr("--device=host"), HasSubstr("there is no cuda:1000")));
  EXPECT_THAT(kDmabuf.Refusal({"--device=host", "--peer-device=cuda:1000"}),
              AnyOf(HasSubstr("--peer-device=host"), HasSubstr("there is no cuda:1000")));
  EXPECT_THAT(kDmabuf.Refusal({"--device=host", "--peer-device=tpu"}),
              HasSubstr("--peer-device=tpu"));
  EXPECT_THAT(kDmabuf.Refusal({"--bandwidth", "--provider=tcp"}),
              HasSubstr("leave out --provider"));
  EXPECT_THAT(kDmabuf.Refusal({"--bandwidth", "--register=fax"}),
              HasSubstr("auto, dmabuf or address"));
  EXPECT_THAT(kDmabuf.Refusal({"--register=fax"}), HasSubstr("auto, dmabuf or address"));
  EXPECT_THAT(kDmabuf.Refusal({"--allocation=odd"}), HasSubstr("plain, virtual or segments"));
  EXPECT_THAT(kDmabuf.Refusal({"--device=host", "--page-size=4"}), HasSubstr("words of 8 B"));
  EXPECT_THAT(kDmabuf.Refusal({"--device=host", "--provider=efa", "--profile=p5"}),
              HasSubstr("host memory only"));
  EXPECT_THAT(kDmabuf.Refusal({"--bandwidth", "--bytes=12"}), HasSubstr("multiple of 8"));
  EXPECT_THAT(kDmabuf.Refusal({"--kinds", "--device=tpu"}), HasSubstr("host, cuda:0"));
  EXPECT_THAT(kDmabuf.Refusal({"--kinds", "p5"}), HasSubstr("takes no arguments"));
  EXPECT_THAT(kDmabuf.Refusal({"--bandwidth", "--repeats=0"}), HasSubstr("between 1 and"));
  EXPECT_THAT(kDmabuf.Refusal({"--bandwidth", "p5"}), HasSubstr("takes no arguments"));
  // What the run would not look at.
  EXPECT_THAT(kDmabuf.Refusal({"--bandwidth", "--page-size=4096"}),
              HasSubstr("--bandwidth takes no --page-size"));
  EXPECT_THAT(kDmabuf.Refusal({"--kinds", "--num-pages=4"}),
              HasSubstr("--kinds takes no --num-pages"));
  EXPECT_THAT(kDmabuf.Refusal({"--kinds", "--metrics"}), HasSubstr("--kinds takes no --metrics"));
  EXPECT_THAT(kDmabuf.Refusal({"--bytes=4096"}), HasSubstr("goes with --bandwidth only"));
  EXPECT_THAT(kDmabuf.Refusal({"--device=host", "--clients=3"}),
              HasSubstr("--clients is for a server whose clients are started by hand"));
}

TEST(DmabufTest, HelpShowsWhatItTakes) {
  EXPECT_THAT(kDmabuf.Output({"--help"}),
              AllOf(StartsWith("dmabuf: "), HasSubstr("--device (default auto)"),
                    HasSubstr("--peer-device"), HasSubstr("--bandwidth")));
}

// Why the simulator was chosen depends on what was built in.
std::string WithoutReason(const std::string& text) {
  const std::size_t start = text.find(" (auto: ");
  if (start == std::string::npos) return text;
  return text.substr(0, start) + text.substr(text.find(")\n", start) + 1);
}

TEST(DmabufTest, ReadmeShowsWhatIsPrinted) {
  const std::vector<harness::ReadmeSession> sessions = harness::ReadmeSessions("//apps/dmabuf");
  ASSERT_THAT(sessions, SizeIs(1));
  EXPECT_EQ(WithoutReason(kDmabuf.Output(sessions[0].arguments)),
            WithoutReason(sessions[0].output));
}

}  // namespace
}  // namespace drydock::apps::dmabuf
