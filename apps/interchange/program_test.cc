// interchange as a user starts it, on the stand-in GPU.

#include <vector>

#include "drydock/testing/harness/readme.h"
#include "drydock/testing/harness/run_program.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace drydock::apps {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr harness::Program kInterchange =
    harness::Program("DRYDOCK_INTERCHANGE", "interchange").WithoutEfa();

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

TEST(InterchangeTest, HelpTeaches) {
  EXPECT_THAT(kInterchange.Output({"--help"}),
              AllOf(StartsWith("interchange: "), HasSubstr("--peer-device")));
}

}  // namespace
}  // namespace drydock::apps
