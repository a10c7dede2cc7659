// The program, started as a user starts it: simulated, and between two processes.

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "drydock/testing/harness/run_program.h"
#include "drydock/testing/harness/subprocess.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace drydock::apps::batch {
namespace {

using ::drydock::testing_matchers::IsOk;
using harness::ProcessEnd;
using harness::Subprocess;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = nlohmann::json;

constexpr harness::Program kBatch("BATCH", "batch");

Json RunForJson(std::vector<std::string> arguments) {
  arguments.emplace_back("--json");
  const ProcessEnd end = kBatch.Run(std::move(arguments));
  EXPECT_EQ(end.exit_code, 0) << end;
  return Json::parse(end.out, nullptr, /*allow_exceptions=*/false);
}

std::string Contents(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// Small, and of both kinds of sharing: two GPUs with two of their NICs each.
const std::vector<std::string> kSmall = {"--gpus=2", "--nics-per-gpu=2", "--pages=150"};

TEST(SimulatedTest, EveryPageOfEveryNicArrives) {
  const Json json = RunForJson(kSmall);
  EXPECT_EQ(json["simulated"], true);
  EXPECT_EQ(json["correct"], true);
  EXPECT_EQ(json["reissued_pages"], 0);
  ASSERT_EQ(json["nics"].size(), 4u);
  std::uint64_t bytes = 0;
  for (const Json& nic : json["nics"]) {
    EXPECT_GT(nic["bytes"], 0);
    EXPECT_EQ(nic["alive"], true);
    bytes += nic["bytes"].get<std::uint64_t>();
  }
  EXPECT_EQ(bytes, 4u * 150 * 65536);
  EXPECT_EQ(json["bytes"], bytes);
}

// Both GPUs of a p5en's switch have NICs of their own below it.
TEST(SimulatedTest, GpusThatShareASwitchShareItsNics) {
  const Json json = RunForJson({"--profile=p5en", "--gpus=2", "--pages=40"});
  ASSERT_EQ(json["nics"].size(), 4u);
  std::vector<std::string> names;
  for (const Json& nic : json["nics"]) names.push_back(nic["name"]);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
}

TEST(SimulatedTest, TheSameSeedGivesTheSameRun) {
  const ProcessEnd first = kBatch.Run(kSmall);
  EXPECT_EQ(first.exit_code, 0) << first;
  EXPECT_EQ(first.LastLine(), "Data is correct");
  EXPECT_THAT(first.out, HasSubstr("simulated time"));
  EXPECT_EQ(kBatch.Run(kSmall).out, first.out);
}

// Short pages: it is the threads that limit.
TEST(SimulatedTest, OneThreadThatAlsoPollsInEveryPostIsSlower) {
  const std::vector<std::string> fast = {"--gpus=2", "--nics-per-gpu=1", "--page-size=1KiB",
                                         "--pages=600", "--window=64"};
  std::vector<std::string> slow = fast;
  slow.insert(slow.end(), {"--threads=1", "--burst=1", "--nolazy", "--noshard", "--nopin"});
  EXPECT_LT(RunForJson(slow)["steady_gbps"].get<double>(),
            0.7 * RunForJson(fast)["steady_gbps"].get<double>());
}

TEST(SimulatedTest, PicturesAndTables) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/batch.svg");
  std::vector<std::string> arguments = kSmall;
  arguments.insert(arguments.end(), {"--csv", absl::StrCat("--svg=", path)});
  const ProcessEnd end = kBatch.Run(arguments);
  EXPECT_EQ(end.exit_code, 0) << end;
  const std::vector<std::string> lines = absl::StrSplit(end.out, '\n', absl::SkipEmpty());
  EXPECT_GT(lines.size(), 20u);
  EXPECT_THAT(lines.front(), HasSubstr("seconds,bytes,rdmap79s0,"));
  EXPECT_THAT(lines.back(), HasSubstr(absl::StrCat(",", 4 * 150 * 65536, ",")));
  const std::string svg = Contents(path);
  EXPECT_THAT(svg, HasSubstr("Throughput of each NIC"));
  EXPECT_THAT(svg, HasSubstr("Throughput over time"));
  EXPECT_THAT(svg, HasSubstr("simulated time"));
}

TEST(RefusalTest, OneLineAndTwo) {
  const std::string both = absl::StrCat(::testing::TempDir(), "/both.json");
  const std::vector<std::vector<std::string>> refused = {
      {"--gpus=9"},
      {"--nics-per-gpu=5"},
      {"--threads=33"},
      {"--threads=0"},
      {"--page-size=three"},
      {"--window=0"},
      {"--burst=65"},
      {"--policy=random"},
      {"--timeout=0"},
      {"--json", "--csv"},
      {"--steps", "--profile=p5en"},
      {"--steps", "--gpus=1"},
      {"--nic=rdmap79s0"},
      {"--svg=/no/such/folder/x.svg", "--gpus=1", "--pages=1"},
      {"--svg=" + both, "--metrics=" + both, "--gpus=1", "--pages=1"},
      {"127.0.0.1:1"},
      {"one", "two"},
  };
  for (const std::vector<std::string>& arguments : refused) {
    const ProcessEnd end = kBatch.Run(arguments);
    EXPECT_EQ(end.exit_code, 2) << arguments.front() << "\n" << end;
    EXPECT_THAT(end.out, IsEmpty());
    EXPECT_TRUE(absl::StartsWith(end.err, "batch: ")) << end.err;
    EXPECT_EQ(end.err.find('\n'), end.err.size() - 1) << end.err;
  }
}

TEST(RefusalTest, NamesTheFlagOfABadSize) {
  EXPECT_THAT(kBatch.Run({"--page-size=three"}).err, HasSubstr("--page-size=three is no size"));
}

// A machine of fewer NICs than GPUs runs with the defaults, too.
TEST(SimulatedTest, GpusThatShareNicsAreLeftOut) {
  EXPECT_EQ(RunForJson({"--profile=g6", "--pages=20"})["nics"].size(), 1u);
  EXPECT_EQ(RunForJson({"--profile=g7e", "--pages=20"})["nics"].size(), 4u);
}

#ifdef DRYDOCK_HAVE_LIBFABRIC

class TwoProcessesTest : public ::testing::Test {
 protected:
  // A receiver that says where it is.
  std::unique_ptr<Subprocess> Receive(std::vector<std::string> arguments = {}) {
    arguments.insert(arguments.begin(), "--provider=tcp");
    absl::StatusOr<std::unique_ptr<Subprocess>> receiver =
        Subprocess::Start(kBatch.Command(arguments));
    EXPECT_THAT(receiver, IsOk());
    const absl::StatusOr<std::string> line = (*receiver)->WaitForLine("address");
    EXPECT_THAT(line, IsOk());
    if (line.ok()) address_ = line->substr(line->find_last_of(' ') + 1);
    return *std::move(receiver);
  }

  std::string address_;
};

TEST_F(TwoProcessesTest, SeveralEndpointsOfOneSoftwareNic) {
  for (const char* threads : {"--threads=0", "--threads=2"}) {
    const std::unique_ptr<Subprocess> receiver = Receive({threads});
    const Json json = RunForJson({"--provider=tcp", address_, "--gpus=2", "--nics-per-gpu=3",
                                  "--pages=300", "--window=32", threads});
    EXPECT_EQ(json["correct"], true);
    EXPECT_EQ(json["simulated"], false);
    EXPECT_EQ(json["nics"].size(), 6u);
    EXPECT_EQ(json["bytes"], 6u * 300 * 65536);
    ASSERT_OK_AND_ASSIGN(const ProcessEnd end, receiver->Finish());
    EXPECT_EQ(end.exit_code, 0) << end;
    EXPECT_EQ(end.LastLine(), "Data is correct");
  }
}

TEST_F(TwoProcessesTest, WhatIsForTheOtherSideIsRefused) {
  for (const char* flag :
       {"--json", "--csv", "--svg=x.svg", "--nic=none", "--page-size=4096", "--pages=7",
        "--window=3", "--policy=split", "--nowarm-up", "--nolazy", "--noshard"}) {
    const ProcessEnd end = kBatch.Run({"--provider=tcp", flag});
    EXPECT_EQ(end.exit_code, 2) << flag << "\n" << end;
    EXPECT_THAT(end.out, IsEmpty());
  }
  const ProcessEnd end = kBatch.Run({"--provider=tcp", "127.0.0.1:1", "--listen=127.0.0.1:7"});
  EXPECT_EQ(end.exit_code, 2) << end;
  EXPECT_THAT(end.err, HasSubstr("--listen is for a receiver"));
}

TEST_F(TwoProcessesTest, SenderWithoutReceiver) {
  const ProcessEnd end = kBatch.Run({"--provider=tcp", "127.0.0.1:1", "--timeout=5"});
  EXPECT_EQ(end.exit_code, 1) << end;
  EXPECT_THAT(end.err, HasSubstr("nobody listens there"));
}

// Refused before they meet, so that no rank waits for another.
TEST_F(TwoProcessesTest, SeveralSendersOfALauncherPrintNoTable) {
  const harness::SubprocessOptions rank = {
      .environment = {{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "6"}}};
  ASSERT_OK_AND_ASSIGN(const ProcessEnd end,
                       Subprocess::Run(kBatch.Command({"--provider=tcp", "--csv"}), rank));
  EXPECT_EQ(end.exit_code, 2) << end;
  EXPECT_THAT(end.err, HasSubstr("3 senders would print one each: take --json, a line for each"));
}

// Its pages come no more: its receiver says so at once, and does not wait for --timeout.
TEST_F(TwoProcessesTest, ASenderThatDies) {
  const std::unique_ptr<Subprocess> receiver = Receive({"--timeout=3600"});
  absl::StatusOr<std::unique_ptr<Subprocess>> sender =
      Subprocess::Start(kBatch.Command({"--provider=tcp", address_, "--pages=10000000"}));
  ASSERT_THAT(sender, IsOk());
  ASSERT_THAT(receiver->WaitForLine("expects"), IsOk());
  sender->reset();  // kills it
  ASSERT_OK_AND_ASSIGN(const ProcessEnd end, receiver->Finish());
  EXPECT_EQ(end.exit_code, 1) << end;
  EXPECT_EQ(end.err, "batch: receive: the sender has ended before all pages came\n");
}

TEST_F(TwoProcessesTest, AReceiverThatDies) {
  std::unique_ptr<Subprocess> receiver = Receive({"--timeout=3600"});
  absl::StatusOr<std::unique_ptr<Subprocess>> sender = Subprocess::Start(
      kBatch.Command({"--provider=tcp", address_, "--pages=10000000", "--timeout=3600"}));
  ASSERT_THAT(sender, IsOk());
  ASSERT_THAT(receiver->WaitForLine("expects"), IsOk());
  receiver.reset();  // kills it
  ASSERT_OK_AND_ASSIGN(const ProcessEnd end, (*sender)->Finish());
  EXPECT_EQ(end.exit_code, 1) << end;
  EXPECT_EQ(end.err, "batch: send: the receiver has ended before it had all pages\n");
}

// A peer's bytes are untrusted: one that speaks another protocol is refused, in a line, and the
// sender still finds its receiver.
TEST_F(TwoProcessesTest, CallersThatAreNoSenders) {
  const std::unique_ptr<Subprocess> receiver = Receive();
  const std::string say = absl::StrCat("printf '\\004\\000\\000\\000none' > /dev/tcp/",
                                       absl::StrReplaceAll(address_, {{":", "/"}}));
  ASSERT_THAT(Subprocess::Run({"/bin/bash", "-c", say}), IsOk());
  EXPECT_EQ(RunForJson({"--provider=tcp", address_, "--pages=20"})["correct"], true);
  ASSERT_OK_AND_ASSIGN(const ProcessEnd end, receiver->Finish());
  EXPECT_EQ(end.exit_code, 0) << end;
  EXPECT_THAT(end.out, HasSubstr("another form than batch's"));
}

#endif  // DRYDOCK_HAVE_LIBFABRIC

}  // namespace
}  // namespace drydock::apps::batch
