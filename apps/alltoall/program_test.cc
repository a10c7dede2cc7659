// The program, started as a user starts it: simulated, with what may go wrong, and as ranks of
// several processes.

#include <signal.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "drydock/testing/harness/readme.h"
#include "drydock/testing/harness/run_program.h"
#include "drydock/testing/harness/subprocess.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace drydock::apps::alltoall {
namespace {

using harness::ProcessEnd;
using harness::Subprocess;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using Json = nlohmann::json;

constexpr harness::Program kAllToAll("ALLTOALL", "alltoall");

// One column of all ranks.
std::vector<std::uint64_t> Column(const Json& json, const char* key) {
  std::vector<std::uint64_t> values;
  for (const Json& row : json["rows"]) values.push_back(row[key].get<std::uint64_t>());
  return values;
}
std::uint64_t Sum(const Json& json, const char* key) {
  std::uint64_t sum = 0;
  for (const std::uint64_t value : Column(json, key)) sum += value;
  return sum;
}

// A run whose results are right.
Json RightRun(std::vector<std::string> arguments) {
  arguments.emplace_back("--json");
  const ProcessEnd end = kAllToAll.Run(std::move(arguments));
  EXPECT_EQ(end.exit_code, 0) << end;
  Json json = Json::parse(end.out, nullptr, /*allow_exceptions=*/false);
  EXPECT_FALSE(json.is_discarded()) << end;
  EXPECT_EQ(Sum(json, "wrong"), 0u);
  EXPECT_EQ(Sum(json, "sent"), Sum(json, "received"));
  return json;
}

std::string PlanOf(const char* name) {
  return absl::StrCat("--faults=apps/alltoall/faults/", name, ".json");
}

TEST(SimulatedTest, UnevenCounts) {
  const Json json = RightRun({"--rounds=4"});
  EXPECT_EQ(json["origin"], "simulated");
  ASSERT_EQ(json["rows"].size(), 4u);
  // Ranks are not served alike: a round leaves one rank without a token, and gives another one all.
  const std::vector<std::uint64_t> tokens = Column(json, "tokens");
  EXPECT_NE(tokens[0], tokens[1]);
  EXPECT_LT(Sum(json, "tokens"), 4u * 4 * 64);
  for (const Json& row : json["rows"]) EXPECT_GT(row["dispatch_us"].get<double>(), 0);
}

TEST(SimulatedTest, EveryRoutingAndWay) {
  const std::vector<std::string> small = {"--tokens=24", "--bytes=260", "--rounds=2"};
  for (const char* routing : {"--routing=uniform", "--routing=skewed", "--routing=one"}) {
    for (const char* rails : {"--rail-aligned", "--norail-aligned"}) {
      for (const char* place : {"--in-place", "--noin-place"}) {
        std::vector<std::string> arguments = small;
        arguments.insert(arguments.end(), {routing, rails, place, "--machines=5"});
        SCOPED_TRACE(absl::StrCat(routing, " ", rails, " ", place));
        RightRun(arguments);
      }
    }
  }
}

// All experts of all tokens are on rank 0: it gets each token of the others once, others nothing.
TEST(SimulatedTest, ATokenGoesOnceToARank) {
  const Json json = RightRun(
      {"--routing=one", "--machines=3", "--tokens=10", "--top-k=8", "--rounds=2", "--bytes=64"});
  EXPECT_THAT(Column(json, "sent"), ::testing::ElementsAre(0u, 20u, 20u));
  EXPECT_THAT(Column(json, "received"), ::testing::ElementsAre(40u, 0u, 0u));
  EXPECT_THAT(Column(json, "bytes"), ::testing::ElementsAre(40u * 64, 20u * 64, 20u * 64));
}

TEST(SimulatedTest, OneMachineNeedsNoNetwork) {
  const Json json = RightRun({"--machines=1"});
  EXPECT_EQ(Sum(json, "sent"), 0u);
}

TEST(SimulatedTest, TheSameSeedGivesTheSameRun) {
  const std::string first = kAllToAll.Output({"--seed=3"});
  EXPECT_EQ(kAllToAll.Output({"--seed=3"}), first);
  EXPECT_NE(RightRun({"--seed=4"})["rows"], RightRun({"--seed=3"})["rows"]);
  EXPECT_THAT(first, HasSubstr("Data is correct"));
}

TEST(SimulatedTest, OnTheSoftwareProtocolAndOnABigMachine) {
  RightRun({"--provider=efa", "--profile=p4d", "--machines=3", "--tokens=16", "--rounds=1"});
  RightRun({"--profile=p5", "--nics=32", "--machines=3", "--tokens=64", "--rounds=1"});
}

// All wait for the one that is late; no NIC is given up meanwhile, and nothing is sent again.
TEST(SimulatedTest, ALateRankIsWaitedFor) {
  const Json late = RightRun({"--late=2:50", "--rounds=2"});
  const Json prompt = RightRun({"--rounds=2"});
  EXPECT_EQ(Column(late, "sent"), Column(prompt, "sent"));
  EXPECT_EQ(Column(late, "dead_nics"), Column(prompt, "dead_nics"));
  EXPECT_EQ(Sum(late, "reissued"), 0u);
  EXPECT_GT(late["rows"][0]["barrier_us"].get<double>(), 50'000);
  EXPECT_LT(prompt["rows"][0]["barrier_us"].get<double>(), 1000);
}

TEST(SimulatedTest, ARankThatComesTooLateIsOneError) {
  const ProcessEnd end = kAllToAll.Run({"--late=2:50", "--timeout=0.02"});
  EXPECT_EQ(end.exit_code, 1) << end;
  EXPECT_THAT(harness::Lines(end.err),
              AllOf(SizeIs(1), Each(AllOf(HasSubstr("alltoall: rank "), HasSubstr("barrier")))));
}

// ---- Faults ----

TEST(FaultsTest, ANicThatDiesCostsNoRow) {
  for (const char* place : {"--in-place", "--noin-place"}) {
    const Json json = RightRun({PlanOf("nic_dies"), place});
    EXPECT_THAT(Column(json, "dead_nics"), Contains(1u));
    EXPECT_GT(Sum(json, "reissued"), 0u);
  }
}

TEST(FaultsTest, AMachineThatFallsSilentIsOneError) {
  const ProcessEnd end = kAllToAll.Run({PlanOf("machine_dies")});
  EXPECT_EQ(end.exit_code, 1) << end;
  EXPECT_THAT(harness::Lines(end.err), AllOf(SizeIs(1), Each(HasSubstr("alltoall: rank "))));
  EXPECT_THAT(end.out, ::testing::Not(HasSubstr("Data is")));
}

// In place, an answer is where a row came; the row comes again as long as its sender's call lasts.
TEST(FaultsTest, ARowThatIsWrittenAgainSpoilsNoAnswer) {
  for (const char* seed : {"--seed=1", "--seed=2"}) {
    const Json json = RightRun({PlanOf("lost_answers"), "--in-place", "--rounds=6", seed});
    EXPECT_GT(Sum(json, "reissued"), 0u);
  }
}

TEST(FaultsTest, ARoughNetworkSpoilsNoDataAndCostsNoNic) {
  const Json rough = RightRun({PlanOf("rough_network"), "--in-place"});
  EXPECT_EQ(Column(rough, "sent"), Column(RightRun({"--in-place"}), "sent"));
  EXPECT_EQ(Sum(rough, "dead_nics"), 0u);
}

// ---- Bad input ----

TEST(RefusalTest, OneLineAndTwo) {
  EXPECT_THAT(kAllToAll.Refusal({"--machines=0"}), HasSubstr("--machines=0"));
  EXPECT_THAT(kAllToAll.Refusal({"--nics=3"}), HasSubstr("the machine has 2"));
  EXPECT_THAT(kAllToAll.Refusal({"--tokens=0"}), HasSubstr("--tokens=0"));
  EXPECT_THAT(kAllToAll.Refusal({"--top-k=65"}), HasSubstr("--top-k=65"));
  EXPECT_THAT(kAllToAll.Refusal({"--bytes=6"}), HasSubstr("no multiple of 4"));
  EXPECT_THAT(kAllToAll.Refusal({"--bytes=0"}), HasSubstr("--bytes=0 is no size"));
  EXPECT_THAT(kAllToAll.Refusal({"--routing=best"}), HasSubstr("uniform, skewed or one"));
  EXPECT_THAT(kAllToAll.Refusal({"--late=2"}), HasSubstr("RANK:MILLISECONDS"));
  EXPECT_THAT(kAllToAll.Refusal({"--late=4:1"}), HasSubstr("there is no rank 4"));
  EXPECT_THAT(kAllToAll.Refusal({"--late=18446744073709551615:5"}), HasSubstr("there is no rank"));
  EXPECT_THAT(kAllToAll.Refusal({"--timeout=0"}), HasSubstr("--timeout=0"));
  EXPECT_THAT(kAllToAll.Refusal({"127.0.0.1:1"}), HasSubstr("the simulator runs"));
  EXPECT_THAT(kAllToAll.Refusal({"--listen=0.0.0.0:9"}), HasSubstr("here all are in one"));
  EXPECT_THAT(kAllToAll.Refusal({"one", "two"}), HasSubstr("unexpected argument 'two'"));
  EXPECT_THAT(kAllToAll.Refusal({"--machines=1000", "--tokens=65536"}), HasSubstr("numbered"));
  EXPECT_THAT(kAllToAll.Refusal({"--machines=8", "--tokens=65536", "--bytes=64KiB"}),
              HasSubstr("over 64 GiB: take fewer"));
}

#ifdef DRYDOCK_HAVE_LIBFABRIC

// Without it, the program says so in its first line.
TEST(ReadmeTest, SessionsAreWhatTheProgramPrints) {
  const auto sessions = harness::ReadmeSessions("//apps/alltoall");
  ASSERT_THAT(sessions, SizeIs(1));
  for (const harness::ReadmeSession& session : sessions) {
    EXPECT_EQ(kAllToAll.Output(session.arguments), session.output);
  }
}

// ---- Ranks that are processes ----

TEST(RefusalTest, WhereRankZeroListensIsForRankZeroToSay) {
  EXPECT_THAT(kAllToAll.Refusal({"--provider=tcp", "127.0.0.1:1", "--listen=127.0.0.1:9"}),
              HasSubstr("--listen is for rank 0"));
}

class ProcessesTest : public ::testing::TestWithParam<const char*> {
 protected:
  // Rank 0, which says where the others meet it, and then they.
  void Start(std::size_t ranks, const std::vector<std::string>& flags) {
    std::vector<std::string> first = flags;
    first.push_back(absl::StrCat("--machines=", ranks));
    Launch(std::move(first));
    ASSERT_OK_AND_ASSIGN(const std::string line, ranks_[0]->WaitForLine("meet"));
    for (std::size_t i = 1; i < ranks; ++i) {
      std::vector<std::string> other = flags;
      other.push_back(line.substr(line.find_last_of(' ') + 1));
      Launch(std::move(other));
    }
  }
  void Launch(std::vector<std::string> arguments) {
    arguments.push_back(absl::StrCat("--provider=", GetParam()));
    ASSERT_OK_AND_ASSIGN(ranks_.emplace_back(), Subprocess::Start(kAllToAll.Command(arguments),
                                                                  {.environment = environment_}));
  }
  ProcessEnd Finish(std::size_t rank) { return ranks_[rank]->Finish().value(); }

  std::map<std::string, std::string> environment_;
  std::vector<std::unique_ptr<Subprocess>> ranks_;
};

INSTANTIATE_TEST_SUITE_P(Providers, ProcessesTest, ::testing::Values("tcp", "shm"),
                         [](const auto& one) { return std::string(one.param); });

TEST_P(ProcessesTest, AreRight) {
  for (const char* place : {"--in-place", "--norail-aligned"}) {
    ranks_.clear();
    ASSERT_NO_FATAL_FAILURE(Start(3, {"--tokens=16", "--rounds=2", "--timeout=60", place}));
    for (std::size_t i = 0; i < 3; ++i) {
      const ProcessEnd end = Finish(i);
      EXPECT_EQ(end.exit_code, 0) << "rank " << i << "\n" << end;
      if (i == 0) {
        EXPECT_EQ(end.LastLine(), "Data is correct") << end;
      } else {
        EXPECT_EQ(end.out, "");
      }
    }
  }
}

// In a shell that a launcher has started, alone, ranks meet as anywhere.
TEST_P(ProcessesTest, ALaunchOfOneIsNone) {
  environment_ = {{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}};
  ASSERT_NO_FATAL_FAILURE(Start(2, {"--tokens=16", "--rounds=1", "--timeout=60"}));
  const ProcessEnd end = Finish(0);
  EXPECT_EQ(end.exit_code, 0) << end;
  EXPECT_THAT(end.out, HasSubstr("ranks     2"));
  EXPECT_EQ(Finish(1).exit_code, 0);
}

TEST_P(ProcessesTest, OtherFlagsAreRefused) {
  for (const char* other : {"--tokens=17", "--rounds=2"}) {
    ranks_.clear();
    Launch({"--timeout=60", "--tokens=16", "--machines=2"});
    ASSERT_OK_AND_ASSIGN(const std::string line, ranks_[0]->WaitForLine("meet"));
    Launch({"--timeout=60", "--tokens=16", other, line.substr(line.find_last_of(' ') + 1)});
    for (std::size_t i = 0; i < 2; ++i) {
      const ProcessEnd end = Finish(i);
      EXPECT_EQ(end.exit_code, 1) << end;
      EXPECT_THAT(end.err, HasSubstr("it was started with other flags"));
    }
  }
}

// It tells the others, who would wait for it until --timeout.
TEST_P(ProcessesTest, ARankThatCannotStartEndsAll) {
  Launch({"--timeout=60", "--tokens=16", "--machines=3"});
  ASSERT_OK_AND_ASSIGN(const std::string line, ranks_[0]->WaitForLine("meet"));
  const std::string address = line.substr(line.find_last_of(' ') + 1);
  Launch({"--timeout=60", "--tokens=16", "--nic=none", address});
  Launch({"--timeout=60", "--tokens=16", address});
  EXPECT_THAT(Finish(1).err, HasSubstr("alltoall: no NIC 'none'"));
  for (const std::size_t other : {0, 2}) {
    const ProcessEnd end = Finish(other);
    EXPECT_EQ(end.exit_code, 1) << end;
    EXPECT_THAT(end.err, ::testing::ContainsRegex("alltoall: rank [12] cannot go on: no NIC"));
  }
}

// Not with shm: a process that is killed inside the provider keeps its spin lock, and its peers
// wait for it for ever (fabric/libfabric/README.md).
class KilledRankTest : public ProcessesTest {};

INSTANTIATE_TEST_SUITE_P(Providers, KilledRankTest, ::testing::Values("tcp"),
                         [](const auto& one) { return std::string(one.param); });

// The machine of a rank falls silent: every other rank says so, and ends.
TEST_P(KilledRankTest, IsOneErrorOfEachOther) {
  ASSERT_NO_FATAL_FAILURE(Start(3, {"--tokens=16", "--rounds=400", "--timeout=10"}));
  // The first quarter. 300 rounds are left: this process may have no processor for a while.
  ASSERT_TRUE(ranks_[0]->WaitForText("progress").ok());
  ranks_[1]->Signal(SIGKILL);
  EXPECT_EQ(Finish(1).signal, SIGKILL);
  for (const std::size_t process : {0, 2}) {
    const ProcessEnd end = Finish(process);
    EXPECT_EQ(end.exit_code, 1) << end;
    EXPECT_THAT(harness::Lines(end.err),
                AllOf(SizeIs(1), Each(::testing::ContainsRegex("alltoall: rank [0-2], round"))));
  }
}

#endif  // DRYDOCK_HAVE_LIBFABRIC

}  // namespace
}  // namespace drydock::apps::alltoall
