// gda_probe, gda_put, gda_ranks and interchange as a user starts them, on the stand-in GPU.

#include <string>
#include <vector>

#include "drydock/testing/harness/readme.h"
#include "drydock/testing/harness/run_program.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace drydock::apps {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr harness::Program kProbe = harness::Program("DRYDOCK_PROBE", "gda_probe").WithoutEfa();
constexpr harness::Program kPut = harness::Program("DRYDOCK_PUT", "gda_put").WithoutEfa();
constexpr harness::Program kInterchange =
    harness::Program("DRYDOCK_INTERCHANGE", "interchange").WithoutEfa();

constexpr harness::Program kRanks = harness::Program("DRYDOCK_RANKS", "gda_ranks").WithoutEfa();

// ---- gda_probe ----

TEST(GdaProbeTest, SaysWhatTheQueueIsAndThatItIsMappable) {
  EXPECT_THAT(
      kProbe.Output({"--source=sim", "--device=host"}),
      AllOf(StartsWith("nic         rdmap79s0 (simulated, profile p5)\n"),
            HasSubstr("\nsend        4096 entries of 64 B, at most "),
            HasSubstr("\nmap         the send doorbell, 4 B: mapped\n"), EndsWith("\nmappable\n")));
}

TEST(GdaProbeTest, IsForScriptsToo) {
  const auto json =
      nlohmann::json::parse(kProbe.Output({"--source=auto", "--device=host", "--json"}));
  EXPECT_EQ(json["mappable"], true);
  EXPECT_EQ(json["send"]["entry_bytes"], 64);
  EXPECT_THAT(json["pieces"], SizeIs(8));
}

TEST(GdaProbeTest, SaysWhatIsMissing) {
  EXPECT_THAT(kProbe.Refusal({"--source=libfabric", "--device=host"}),
              AllOf(StartsWith("gda_probe: "), HasSubstr("libfabric")));
  EXPECT_THAT(kProbe.Refusal({"--source=verbs", "--device=host"}), HasSubstr("sim or libfabric"));
  EXPECT_THAT(kProbe.Refusal({"--device=tpu"}), HasSubstr("host, cuda:0"));
  EXPECT_THAT(kProbe.Refusal({"--device=host", "--source=sim", "--profile=p9"}), HasSubstr("p9"));
  EXPECT_THAT(kProbe.Refusal({"now"}), HasSubstr("unexpected argument 'now'"));
  EXPECT_THAT(kProbe.Refusal({"--device=host", "--source=sim", "--profile=p4d"}),
              HasSubstr("no RDMA writes"));
}

// ---- gda_put ----

TEST(GdaPutTest, OnePutInEveryWayToRing) {
  for (const char* ring : {"mapped", "record", "proxy"}) {
    EXPECT_THAT(kPut.Output({"--device=host", std::string("--ring=") + ring}),
                AllOf(HasSubstr(std::string("doorbell ") + ring), HasSubstr(" 1 of 1 writes"),
                      EndsWith("\nData is correct\n")));
  }
}

TEST(GdaPutTest, EveryKernel) {
  for (const char* kernel : {"loop", "team", "blocks"}) {
    const auto json = nlohmann::json::parse(
        kPut.Output({"--device=host", std::string("--kernel=") + kernel, "--count=60", "--bytes=64",
                     "--blocks=2", "--batch=8", "--memory=host", "--json"}));
    EXPECT_EQ(json["done"], 60) << kernel;
    EXPECT_EQ(json["correct"], true) << kernel;
    EXPECT_EQ(json["outcome"], "ok") << kernel;
    EXPECT_THAT(json["faults"], SizeIs(0)) << kernel;
  }
}

TEST(GdaPutTest, WhatCannotBeIsRefused) {
  EXPECT_THAT(kPut.Refusal({"--device=host", "--kernel=warp"}), HasSubstr("put, loop, team"));
  EXPECT_THAT(kPut.Refusal({"--device=host", "--ring=bell"}), HasSubstr("mapped, record, proxy"));
  EXPECT_THAT(kPut.Refusal({"--device=host", "--bytes=12"}), HasSubstr("no multiple of 8"));
  EXPECT_THAT(kPut.Refusal({"--device=host", "--bytes=0"}), HasSubstr("--bytes=0"));
  EXPECT_THAT(kPut.Refusal({"--device=host", "--kernel=loop", "--count=0"}),
              HasSubstr("--count=0"));
  EXPECT_THAT(kPut.Refusal({"--device=host", "--ring=proxy", "--kernel=team"}),
              HasSubstr("for one thread"));
  EXPECT_THAT(kPut.Refusal({"--device=host", "--memory=disk"}), HasSubstr("device, host"));
}

// ---- gda_ranks ----

TEST(GdaRanksTest, EverythingIsRightOnStandIns) {
  const auto json = nlohmann::json::parse(
      kRanks.Output({"--device=host", "--gpus=2", "--tokens=4", "--bytes=64", "--rounds=2",
                     "--count=128", "--pair-bytes=65536", "--json"}));
  std::vector<std::string> what;
  for (const auto& row : json["rows"]) {
    EXPECT_EQ(row["correct"], true) << row;
    what.push_back(row["what"]);
  }
  EXPECT_THAT(what,
              IsSupersetOf({"put, one thread, blocking", "put with signal, 8 blocks on 8 queues",
                            "put with signal until it is counted", "dispatch by NICs",
                            "combine by stores into peers", "host to host:1, dmabuf"}));
}

TEST(GdaRanksTest, OneIsEnough) {
  EXPECT_THAT(kRanks.Output({"--device=host", "--gpus=1", "--work=moe", "--tokens=3", "--bytes=8",
                             "--rounds=1"}),
              AllOf(HasSubstr("dispatch by NICs"), Not(HasSubstr(" no"))));
}

TEST(GdaRanksTest, WhatCannotBeIsRefused) {
  EXPECT_THAT(kRanks.Refusal({"--device=tpu"}), HasSubstr("host, cuda or auto"));
  EXPECT_THAT(kRanks.Refusal({"--device=host", "--work=sleep"}), HasSubstr("puts, signals, moe"));
  EXPECT_THAT(kRanks.Refusal({"--device=host", "--bytes=6"}), HasSubstr("no multiple of 4"));
  EXPECT_THAT(kRanks.Refusal({"--device=host", "--gpus=17"}), HasSubstr("more than 16"));
  EXPECT_THAT(kRanks.Refusal({"--device=host", "--pair-bytes=100"}), HasSubstr("no power of two"));
  EXPECT_THAT(kRanks.Refusal({"now"}), HasSubstr("unexpected argument 'now'"));
}

// ---- interchange ----

TEST(InterchangeTest, PrintsTheEightSteps) {
  const std::vector<harness::ReadmeSession> sessions =
      harness::ReadmeSessions("//apps/interchange");
  ASSERT_THAT(sessions, SizeIs(1));
  EXPECT_EQ(kInterchange.Output(sessions[0].arguments), sessions[0].output);
}

TEST(InterchangeTest, SizesValuesAndRounds) {
  const auto json = nlohmann::json::parse(kInterchange.Output(
      {"--device=host", "--bytes=100001", "--value=7", "--count=3", "--ring=proxy", "--json"}));
  EXPECT_EQ(json["correct"], true);
  EXPECT_EQ(json["wrong_bytes"], 0);
  EXPECT_EQ(json["bytes"], 100001);
  EXPECT_THAT(kInterchange.Output({"--device=host", "--value=0", "--bytes=1", "--ring=record"}),
              HasSubstr("Success! All 1 bytes verified with value 0\n"));
}

TEST(InterchangeTest, WhatCannotBeIsRefused) {
  EXPECT_THAT(kInterchange.Refusal({"--device=host", "--value=256"}), HasSubstr("0 and 255"));
  EXPECT_THAT(kInterchange.Refusal({"--device=host", "--bytes=0"}), HasSubstr("--bytes=0"));
  EXPECT_THAT(kInterchange.Refusal({"--device=host", "--ring=bell"}), HasSubstr("mapped, record"));
  EXPECT_THAT(kInterchange.Refusal({"--device=host", "--count=0"}), HasSubstr("--count=0"));
}

TEST(HelpTest, AllTeach) {
  EXPECT_THAT(kProbe.Output({"--help"}), AllOf(StartsWith("gda_probe: "), HasSubstr("--source")));
  EXPECT_THAT(kPut.Output({"--help"}), AllOf(StartsWith("gda_put: "), HasSubstr("--kernel")));
  EXPECT_THAT(kInterchange.Output({"--help"}),
              AllOf(StartsWith("interchange: "), HasSubstr("--peer-device")));
  EXPECT_THAT(kRanks.Output({"--help"}), AllOf(StartsWith("gda_ranks: "), HasSubstr("--work")));
}

}  // namespace
}  // namespace drydock::apps
