// gda_put as a user starts it, on the stand-in GPU.

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

constexpr harness::Program kPut = harness::Program("DRYDOCK_PUT", "gda_put").WithoutEfa();

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

TEST(GdaPutTest, HelpTeaches) {
  EXPECT_THAT(kPut.Output({"--help"}), AllOf(StartsWith("gda_put: "), HasSubstr("--kernel")));
}

}  // namespace
}  // namespace drydock::apps
