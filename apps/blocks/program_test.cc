// The program, started as a user starts it, and as its README shows it.

#include "drydock/testing/harness/readme.h"
#include "drydock/testing/harness/run_program.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;
using Json = nlohmann::json;

constexpr drydock::harness::Program kBlocks("BLOCKS", "blocks");

TEST(BlocksTest, SaysForAScriptWhatItHasDone) {
  const Json json = Json::parse(
      kBlocks.Output({"--clients=2", "--blocks=6", "--rounds=2", "--hedge-us=0", "--json"}));
  EXPECT_EQ(json["writes"], 12);
  EXPECT_EQ(json["reads"], 24);
  EXPECT_EQ(json["records"], 36);
  EXPECT_EQ(json["wrong"], 0);
  EXPECT_GT(json["elapsed_ns"], 0);
}

TEST(BlocksTest, RefusesWithOneLine) {
  EXPECT_THAT(kBlocks.Refusal({"--clients=32"}), HasSubstr("between 1 and 31"));
  EXPECT_THAT(kBlocks.Refusal({"--window=0"}), HasSubstr("--window=0"));
  EXPECT_THAT(kBlocks.Refusal({"--hedge-us=1000001"}), HasSubstr("a second"));
  EXPECT_THAT(kBlocks.Refusal({"--profile=p9"}), HasSubstr("p9"));
  EXPECT_THAT(kBlocks.Refusal({"--profile=p4d"}), HasSubstr("no RDMA writes"));
  EXPECT_THAT(kBlocks.Refusal({"more"}), HasSubstr("unexpected argument 'more'"));
}

TEST(BlocksTest, HelpShowsItsFlags) {
  EXPECT_THAT(kBlocks.Output({"--help"}), AllOf(StartsWith("blocks: "), HasSubstr("--hedge-us")));
}

TEST(ReadmeTest, SessionsAreWhatTheProgramPrints) {
  const auto sessions = drydock::harness::ReadmeSessions("//apps/blocks");
  ASSERT_THAT(sessions, SizeIs(2));
  for (const drydock::harness::ReadmeSession& session : sessions) {
    EXPECT_EQ(kBlocks.Output(session.arguments), session.output);
  }
}

}  // namespace
