// gda_probe, gda_put and interchange as a user starts them, on the stand-in GPU.

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "testing/harness/readme.h"
#include "testing/harness/subprocess.h"

namespace apps {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

harness::ProcessEnd RunProgram(const char* program, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), harness::ProgramPath(program));
  harness::SubprocessOptions options;
  options.environment = {{"FI_PROVIDER", "^efa"}};  // the same on a machine that has EFA
  return harness::Subprocess::Run(arguments, options).value();
}

std::string Output(const char* program, const std::vector<std::string>& arguments) {
  const harness::ProcessEnd end = RunProgram(program, arguments);
  EXPECT_EQ(end.exit_code, 0) << end.out << end.err;
  return end.out;
}

// The line that it refuses with.
std::string Refusal(const char* program, const std::vector<std::string>& arguments) {
  const harness::ProcessEnd end = RunProgram(program, arguments);
  EXPECT_EQ(end.exit_code, 2) << end.out;
  EXPECT_EQ(end.out, "");
  return end.err;
}

constexpr char kProbe[] = "DRYDOCK_PROBE";
constexpr char kPut[] = "DRYDOCK_PUT";
constexpr char kInterchange[] = "DRYDOCK_INTERCHANGE";

// ---- gda_probe ----

TEST(GdaProbeTest, SaysWhatTheQueueIsAndThatItIsMappable) {
  EXPECT_THAT(
      Output(kProbe, {"--source=sim", "--device=host"}),
      AllOf(StartsWith("nic         rdmap79s0 (simulated, profile p5)\n"),
            HasSubstr("\nsend        4096 entries of 64 B, at most "),
            HasSubstr("\nmap         the send doorbell, 4 B: mapped\n"), EndsWith("\nmappable\n")));
}

TEST(GdaProbeTest, IsForScriptsToo) {
  const auto json =
      nlohmann::json::parse(Output(kProbe, {"--source=auto", "--device=host", "--json"}));
  EXPECT_EQ(json["mappable"], true);
  EXPECT_EQ(json["send"]["entry_bytes"], 64);
  EXPECT_THAT(json["pieces"], SizeIs(8));
}

TEST(GdaProbeTest, SaysWhatIsMissing) {
  EXPECT_THAT(Refusal(kProbe, {"--source=libfabric", "--device=host"}),
              AllOf(StartsWith("gda_probe: "), HasSubstr("libfabric")));
  EXPECT_THAT(Refusal(kProbe, {"--source=verbs", "--device=host"}), HasSubstr("sim or libfabric"));
  EXPECT_THAT(Refusal(kProbe, {"--device=tpu"}), HasSubstr("host, cuda:0"));
  EXPECT_THAT(Refusal(kProbe, {"--device=host", "--source=sim", "--profile=p9"}), HasSubstr("p9"));
  EXPECT_THAT(Refusal(kProbe, {"now"}), HasSubstr("unexpected argument 'now'"));
  EXPECT_THAT(Refusal(kProbe, {"--device=host", "--source=sim", "--profile=p4d"}),
              HasSubstr("no RDMA writes"));
}

// ---- gda_put ----

TEST(GdaPutTest, OnePutInEveryWayToRing) {
  for (const char* ring : {"mapped", "record", "proxy"}) {
    EXPECT_THAT(Output(kPut, {"--device=host", std::string("--ring=") + ring}),
                AllOf(HasSubstr(std::string("doorbell ") + ring), HasSubstr(" 1 of 1 writes"),
                      EndsWith("\nData is correct\n")));
  }
}

TEST(GdaPutTest, EveryKernel) {
  for (const char* kernel : {"loop", "team", "blocks"}) {
    const auto json = nlohmann::json::parse(
        Output(kPut, {"--device=host", std::string("--kernel=") + kernel, "--count=60",
                      "--bytes=64", "--blocks=2", "--batch=8", "--memory=host", "--json"}));
    EXPECT_EQ(json["done"], 60) << kernel;
    EXPECT_EQ(json["correct"], true) << kernel;
    EXPECT_EQ(json["outcome"], "ok") << kernel;
    EXPECT_THAT(json["faults"], SizeIs(0)) << kernel;
  }
}

TEST(GdaPutTest, WhatCannotBeIsRefused) {
  EXPECT_THAT(Refusal(kPut, {"--device=host", "--kernel=warp"}), HasSubstr("put, loop, team"));
  EXPECT_THAT(Refusal(kPut, {"--device=host", "--ring=bell"}), HasSubstr("mapped, record, proxy"));
  EXPECT_THAT(Refusal(kPut, {"--device=host", "--bytes=12"}), HasSubstr("no multiple of 8"));
  EXPECT_THAT(Refusal(kPut, {"--device=host", "--bytes=0"}), HasSubstr("--bytes=0"));
  EXPECT_THAT(Refusal(kPut, {"--device=host", "--kernel=loop", "--count=0"}),
              HasSubstr("--count=0"));
  EXPECT_THAT(Refusal(kPut, {"--device=host", "--ring=proxy", "--kernel=team"}),
              HasSubstr("for one thread"));
  EXPECT_THAT(Refusal(kPut, {"--device=host", "--memory=disk"}), HasSubstr("device, host"));
}

// ---- interchange ----

TEST(InterchangeTest, PrintsTheEightSteps) {
  const std::vector<harness::ReadmeSession> sessions =
      harness::ReadmeSessions("//apps/interchange");
  ASSERT_THAT(sessions, SizeIs(1));
  EXPECT_EQ(Output(kInterchange, sessions[0].arguments), sessions[0].output);
}

TEST(InterchangeTest, SizesValuesAndRounds) {
  const auto json =
      nlohmann::json::parse(Output(kInterchange, {"--device=host", "--bytes=100001", "--value=7",
                                                  "--count=3", "--ring=proxy", "--json"}));
  EXPECT_EQ(json["correct"], true);
  EXPECT_EQ(json["wrong_bytes"], 0);
  EXPECT_EQ(json["bytes"], 100001);
  EXPECT_THAT(Output(kInterchange, {"--device=host", "--value=0", "--bytes=1", "--ring=record"}),
              HasSubstr("Success! All 1 bytes verified with value 0\n"));
}

TEST(InterchangeTest, WhatCannotBeIsRefused) {
  EXPECT_THAT(Refusal(kInterchange, {"--device=host", "--value=256"}), HasSubstr("0 and 255"));
  EXPECT_THAT(Refusal(kInterchange, {"--device=host", "--bytes=0"}), HasSubstr("--bytes=0"));
  EXPECT_THAT(Refusal(kInterchange, {"--device=host", "--ring=bell"}), HasSubstr("mapped, record"));
  EXPECT_THAT(Refusal(kInterchange, {"--device=host", "--count=0"}), HasSubstr("--count=0"));
}

TEST(HelpTest, AllTeach) {
  EXPECT_THAT(Output(kProbe, {"--help"}), AllOf(StartsWith("gda_probe: "), HasSubstr("--source")));
  EXPECT_THAT(Output(kPut, {"--help"}), AllOf(StartsWith("gda_put: "), HasSubstr("--kernel")));
  EXPECT_THAT(Output(kInterchange, {"--help"}),
              AllOf(StartsWith("interchange: "), HasSubstr("--peer_device")));
}

}  // namespace
}  // namespace apps
