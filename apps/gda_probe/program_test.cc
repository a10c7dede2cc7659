// gda_probe as a user starts it, on the stand-in GPU.

#include <string>

#include "drydock/testing/harness/run_program.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace drydock::apps {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr harness::Program kProbe = harness::Program("DRYDOCK_PROBE", "gda_probe").WithoutEfa();

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
  EXPECT_THAT(json["because"].get<std::string>(), HasSubstr("libfabric"));
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
  EXPECT_THAT(kProbe.Refusal({"--device=host", "--source=sim", "--nic=rdmap79s0"}),
              HasSubstr("--nic is of a real NIC"));
  // A simulated one would not be it.
  EXPECT_THAT(kProbe.Refusal({"--device=host", "--nic=rdmap79s0"}), HasSubstr("libfabric"));
  EXPECT_THAT(kProbe.Refusal({"--device=host", "--source=libfabric", "--profile=p5en"}),
              HasSubstr("--profile is of a simulated NIC"));
  EXPECT_THAT(kProbe.Refusal({"now"}), HasSubstr("unexpected argument 'now'"));
  EXPECT_THAT(kProbe.Refusal({"--device=host", "--source=sim", "--profile=p4d"}),
              HasSubstr("no RDMA writes"));
}

TEST(GdaProbeTest, HelpTeaches) {
  EXPECT_THAT(kProbe.Output({"--help"}), AllOf(StartsWith("gda_probe: "), HasSubstr("--source")));
}

}  // namespace
}  // namespace drydock::apps
