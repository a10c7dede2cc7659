// gda_ranks as a user starts it, on stand-in GPUs.

#include <string>
#include <vector>

#include "drydock/testing/harness/run_program.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace drydock::apps {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::StartsWith;

constexpr harness::Program kRanks = harness::Program("DRYDOCK_RANKS", "gda_ranks").WithoutEfa();

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
              IsSupersetOf({"put, one thread, blocking", "put with signal, 2 blocks on 2 queues",
                            "put with signal until it is counted", "dispatch by NICs",
                            "combine by stores into peers", "host to host:1, dmabuf"}));
}

TEST(GdaRanksTest, OneIsEnough) {
  EXPECT_THAT(kRanks.Output({"--device=host", "--gpus=1", "--work=moe", "--tokens=3", "--bytes=8",
                             "--rounds=1"}),
              AllOf(HasSubstr("dispatch by NICs"), Not(HasSubstr(" no"))));
}

TEST(GdaRanksTest, APairOfOneIsOneGpu) {
  const auto json = nlohmann::json::parse(
      kRanks.Output({"--device=host", "--gpus=1", "--work=pairs", "--pair-bytes=65536", "--json"}));
  ASSERT_EQ(json["rows"].size(), 1u);
  EXPECT_EQ(json["rows"][0]["what"], "host to host, dmabuf");
  EXPECT_EQ(json["rows"][0]["gpus"], 1);
  EXPECT_EQ(json["rows"][0]["ranks"], 2);
}

// Fewer puts than blocks: each block has some to do, so that there is a time to divide.
TEST(GdaRanksTest, OnePutIsAWholeBatch) {
  const auto json = nlohmann::json::parse(
      kRanks.Output({"--device=host", "--gpus=1", "--work=puts", "--count=1", "--json"}));
  EXPECT_FALSE(json["rows"].empty());
  for (const auto& row : json["rows"]) {
    EXPECT_TRUE(row["us"].is_number()) << row;
    EXPECT_GT(row["operations_per_s"], 0) << row;
  }
}

TEST(GdaRanksTest, WhatCannotBeIsRefused) {
  EXPECT_THAT(kRanks.Refusal({"--device=tpu"}), HasSubstr("host, cuda or auto"));
  EXPECT_THAT(kRanks.Refusal({"--device=host", "--work=sleep"}), HasSubstr("puts, signals, moe"));
  EXPECT_THAT(kRanks.Refusal({"--device=host", "--bytes=6"}), HasSubstr("no multiple of 4"));
  EXPECT_THAT(kRanks.Refusal({"--device=host", "--gpus=17"}), HasSubstr("more than 16"));
  EXPECT_THAT(kRanks.Refusal({"--device=host", "--pair-bytes=100"}), HasSubstr("no power of two"));
  EXPECT_THAT(kRanks.Refusal({"--device=host", "--count=18446744073709551615"}),
              HasSubstr("--count=18446744073709551615 is not between 0 and 1000000000000"));
  EXPECT_THAT(kRanks.Refusal({"--device=host", "--profile=p4d"}), HasSubstr("asks for writes"));
  EXPECT_THAT(kRanks.Refusal({"now"}), HasSubstr("unexpected argument 'now'"));
}

TEST(GdaRanksTest, HelpTeaches) {
  EXPECT_THAT(kRanks.Output({"--help"}), AllOf(StartsWith("gda_ranks: "), HasSubstr("--work")));
}

}  // namespace
}  // namespace drydock::apps
