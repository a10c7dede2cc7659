// The program as a person or a script meets it, on the simulator: what it prints, how it ends, and
// what it refuses.

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "drydock/testing/harness/run_program.h"
#include "drydock/testing/harness/subprocess.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace drydock::apps::write {
namespace {

using harness::Lines;
using harness::ProcessEnd;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

constexpr harness::Program kWrite = harness::Program("DRYDOCK_WRITE", "write").WithoutEfa();

// The text after a label; empty when no line has it.
std::string After(const ProcessEnd& end, const std::string& label) {
  for (const std::string& line : Lines(end.out)) {
    if (absl::StartsWith(line, label + " ")) return line.substr(10);
  }
  return "";
}

TEST(WriteProgramTest, WithoutArgumentsTransfersAndVerifies) {
  const ProcessEnd end = kWrite.Run({});
  EXPECT_EQ(end.exit_code, 0) << end;
  EXPECT_EQ(end.LastLine(), "Data is correct");
  EXPECT_EQ(end.err, "");
  EXPECT_THAT(After(end, "fabric"), HasSubstr("profile small), NIC rdmap79s0, 100 Gbit/s (auto: "));
  EXPECT_EQ(After(end, "seed"), "1 (--seed=1 repeats this run exactly)");
  EXPECT_THAT(After(end, "server"), MatchesRegex("[0-9a-f]{64}"));
  EXPECT_THAT(After(end, "simulated"), MatchesRegex("[0-9.]+ ms of virtual time"));
  EXPECT_THAT(After(end, "wrote"), MatchesRegex(".*16 pages, 16 MiB in [0-9.]+ ms, "
                                                "[0-9.]+ GB/s \\([0-9.]+ Gbit/s\\)"));
  EXPECT_THAT(After(end, "received"), HasSubstr("GB/s"));
  EXPECT_THAT(Lines(end.out), Contains(MatchesRegex("progress  100%: 16 of 16 writes after .*")));
}

// The seed program's configuration: 2 regions of 16 MiB, 8 pages of 1 MiB, remote context 0x123.
TEST(WriteProgramTest, ClientTellsItsConfiguration) {
  const ProcessEnd end = kWrite.Run({"--fabric=sim"});
  EXPECT_EQ(After(end, "request"),
            "8 pages of 1 MiB into each of 2 regions, data seed 0xb584035fabe6ce9b, "
            "remote context 0x123, completion count");
  EXPECT_THAT(After(end, "pages"),
              MatchesRegex("([0-9]+, ){7}[0-9]+ \\(a region of 16 MiB has 16\\)"));
}

TEST(WriteProgramTest, SameSeedPrintsTheSame) {
  const ProcessEnd first = kWrite.Run({"--seed=5", "--completion=last"});
  const ProcessEnd again = kWrite.Run({"--seed=5", "--completion=last"});
  EXPECT_EQ(first.out, again.out);
  EXPECT_EQ(first.exit_code, again.exit_code);
  EXPECT_NE(kWrite.Run({"--seed=6", "--completion=last"}).out, first.out);
}

// 4 pages of 8 KiB and the message that asks for them; the same in each form.
TEST(WriteProgramTest, MetricsAreThoseOfTheTransfer) {
  const std::vector<std::string> small = {"--page-size=8192", "--num-pages=2"};
  std::vector<std::string> arguments = small;
  arguments.push_back("--metrics");
  const ProcessEnd table = kWrite.Run(arguments);
  EXPECT_EQ(table.exit_code, 0) << table;
  EXPECT_THAT(Lines(table.out), Contains(MatchesRegex("rdma_write_wrs  +requests +4 +0")));
  EXPECT_THAT(Lines(table.out), Contains(MatchesRegex("rdma_write_bytes  +bytes +32768 +0")));
  EXPECT_THAT(Lines(table.out), Contains(MatchesRegex("rdma_write_recv_bytes  +bytes +0 +32768")));
  const std::string file = ::testing::TempDir() + "/metrics.json";
  arguments.back() = "--metrics=" + file;
  arguments.push_back("--csv");
  const ProcessEnd quiet = kWrite.Run(arguments);
  EXPECT_EQ(Lines(quiet.out).size(), 2u) << quiet;  // the result, and nothing else
  std::ifstream written(file);
  const auto json = nlohmann::json::parse(written);
  EXPECT_EQ(json["nics"][0]["node"], "server");
  EXPECT_EQ(json["nics"][0]["counters"]["rdma_write_bytes"], 32768);
  for (const std::string bad : {"--metrics=some", "--metrics=/no/such/folder/x.prom"}) {
    const ProcessEnd refused = kWrite.Run({bad});
    EXPECT_EQ(refused.exit_code, 2) << refused;
    EXPECT_THAT(refused.err, StartsWith("write: " + bad));
    EXPECT_EQ(Lines(refused.err).size(), 1u);
  }
}

// Counters of a failure are wanted most of all.
TEST(WriteProgramTest, ARunThatFailsHasMetricsToo) {
  const ProcessEnd end = kWrite.Run({"--completion=last", "--seed=1", "--metrics", "--json"});
  EXPECT_EQ(end.exit_code, 1) << end;
  EXPECT_TRUE(nlohmann::json::accept(end.out)) << end;
  EXPECT_THAT(end.err, HasSubstr("rdma_write_wrs"));  // beside what is for a script
}

TEST(WriteProgramTest, VerboseShowsEveryWriteWithItsBounds) {
  const ProcessEnd end = kWrite.Run(
      {"--fabric=sim", "--verbose", "--page-size=8192", "--num-pages=2", "--completion=last"});
  std::vector<std::string> writes;
  for (const std::string& line : Lines(end.out)) {
    if (absl::StartsWith(line, "write ")) writes.push_back(line);
  }
  ASSERT_EQ(writes.size(), 4u) << end;
  EXPECT_THAT(writes[0], MatchesRegex("write     session 1: page [0-9]+ of region 0, bytes [0-9]+ "
                                      "to [0-9]+ of 16777216, immediate none"));
  EXPECT_THAT(writes[3], HasSubstr("region 1"));
  EXPECT_THAT(writes[3], HasSubstr("immediate 0x123"));
  EXPECT_THAT(Lines(end.out), Contains(HasSubstr("client's region 1: 16777216 bytes at 0x")));
  EXPECT_THAT(kWrite.Run({"--fabric=sim"}).out, Not(HasSubstr("immediate none")));
}

TEST(WriteProgramTest, LongListsOfPagesAreCutShort) {
  const ProcessEnd end = kWrite.Run({"--fabric=sim", "--page-size=4096", "--num-pages=2037"});
  EXPECT_EQ(end.exit_code, 0) << end;
  EXPECT_EQ(end.LastLine(), "Data is correct");
  EXPECT_THAT(After(end, "pages"), HasSubstr(" and 2021 more (a region of 16 MiB has 4096)"));
}

TEST(WriteProgramTest, JsonIsOneObjectAndNothingElse) {
  const ProcessEnd end = kWrite.Run({"--json", "--seed=3"});
  EXPECT_EQ(end.exit_code, 0) << end;
  EXPECT_EQ(end.err, "");
  const auto json = nlohmann::json::parse(end.out);
  EXPECT_EQ(json["seed"], 3);
  EXPECT_EQ(json["simulated"], true);
  EXPECT_EQ(json["correct"], true);
  EXPECT_EQ(json["pages"], 16);
  EXPECT_EQ(json["bytes"], 16 << 20);
  EXPECT_EQ(json["nic"], "rdmap79s0");
  EXPECT_GT(json["nanoseconds"], 0);
  EXPECT_EQ(json["wrong_pages"], nlohmann::json::parse("[[], []]"));
}

// The NICs of a p4d cannot write. The refusal names the flag that helps, and it does.
TEST(WriteProgramTest, SoftwareWritesWhereTheNicCannot) {
  const ProcessEnd refused = kWrite.Run({"--profile=p4d"});
  EXPECT_EQ(refused.exit_code, 2) << refused;
  EXPECT_THAT(Lines(refused.err), ElementsAre(StartsWith("write: NIC rdmap16s27 of efa-direct")));
  EXPECT_THAT(refused.err, HasSubstr("remote_write; --provider=efa"));
  const ProcessEnd end = kWrite.Run({"--profile=p4d", "--provider=efa"});
  EXPECT_EQ(end.exit_code, 0) << end;
  EXPECT_EQ(end.LastLine(), "Data is correct");
  EXPECT_THAT(After(end, "fabric"), HasSubstr("efa over simulated EFA"));
}

// Exit status 1, and how many pages are wrong and which. (Some seed shows it: sides_test.)
TEST(WriteProgramTest, WrongDataFails) {
  for (int seed = 1; seed <= 100; ++seed) {
    const std::string flag = "--seed=" + std::to_string(seed);
    const ProcessEnd json_end = kWrite.Run({"--json", "--completion=last", flag});
    if (json_end.exit_code == 0) continue;
    EXPECT_EQ(json_end.exit_code, 1) << json_end;
    const auto json = nlohmann::json::parse(json_end.out);
    EXPECT_EQ(json["correct"], false);
    const std::size_t wrong = json["wrong_pages"][0].size() + json["wrong_pages"][1].size();
    EXPECT_GT(wrong, 0u);
    const ProcessEnd end = kWrite.Run({"--completion=last", flag});
    EXPECT_EQ(end.exit_code, 1) << end;
    EXPECT_THAT(end.out, HasSubstr("\nData is wrong: " + std::to_string(wrong) + " of 16 pages\n"));
    EXPECT_THAT(end.LastLine(), MatchesRegex("  region [01]: pages? [0-9, ]+"));
    return;
  }
  FAIL() << "no seed shows wrong data";
}

// Also a text that is longer than a buffer, of which the first part is lost early.
TEST(WriteProgramTest, AResultThatFoundNoRoomIsAFailure) {
  for (const char* flag : {"--json", "--help"}) {
    const ProcessEnd end =
        harness::Subprocess::Run(
            {"/bin/sh", "-c", harness::ProgramPath("DRYDOCK_WRITE") + " " + flag + " >/dev/full"})
            .value();
    EXPECT_EQ(end.exit_code, 1) << end;
    EXPECT_THAT(end.err, HasSubstr("write: standard output cannot be written")) << end;
  }
}

TEST(WriteProgramTest, MetricsAndTraceAreTwoFiles) {
  const std::string file = ::testing::TempDir() + "/both.json";
  const ProcessEnd end = kWrite.Run({"--metrics=" + file, "--trace=" + file});
  EXPECT_EQ(end.exit_code, 2) << end;
  EXPECT_THAT(Lines(end.err), ElementsAre(HasSubstr("--metrics and --trace are both to be in")));
}

TEST(WriteProgramTest, APlanIsNotWrittenOver) {
  const std::string plan = ::testing::TempDir() + "/plan.json";
  const std::string text = R"({"rules": [{"fault": "delayed_completion"}]})";
  std::ofstream(plan) << text;
  for (const std::string output : {"--trace=", "--metrics="}) {
    const ProcessEnd end = kWrite.Run({"--faults=" + plan, output + plan});
    EXPECT_EQ(end.exit_code, 2) << end;
    EXPECT_THAT(Lines(end.err), ElementsAre(HasSubstr("is a file that this run reads")));
    std::ifstream file(plan);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), text);
  }
}

TEST(WriteProgramTest, HelpTeaches) {
  const ProcessEnd end = kWrite.Run({"--help"});
  EXPECT_EQ(end.exit_code, 0) << end;
  EXPECT_THAT(end.out, StartsWith("write: a server makes random data"));
  for (const char* word :
       {"--provider=NAME ADDRESS [PAGE_SIZE NUM_PAGES]", "--completion",
        "--profile=p4d --provider=efa", "--verbose", "Exit status: 0 data correct, 1 data wrong"}) {
    EXPECT_THAT(end.out, HasSubstr(word));
  }
}

struct BadInput {
  std::vector<std::string> arguments;
  const char* complaint;
};

class BadInputTest : public ::testing::TestWithParam<BadInput> {};

TEST_P(BadInputTest, IsRefusedWithOneLine) {
  const ProcessEnd end = kWrite.Run(GetParam().arguments);
  EXPECT_EQ(end.exit_code, 2) << end;
  EXPECT_THAT(Lines(end.err), ElementsAre(StartsWith("write: "))) << end;
  EXPECT_THAT(end.err, HasSubstr(GetParam().complaint));
  EXPECT_EQ(end.out, "");
}

INSTANTIATE_TEST_SUITE_P(
    WriteProgram, BadInputTest,
    ::testing::Values(
        BadInput{{"--timeout=0"}, "--timeout=0 is not between"},
        BadInput{{"--timeout=nan"}, "--timeout=nan"}, BadInput{{"--timeout=-1"}, "--timeout=-1"},
        BadInput{{"--timeout=1e9"}, "--timeout=1e+09"},
        BadInput{{"--num-pages=0"}, "no pages are asked for"},
        BadInput{{"--num-pages=17"}, "the region of 16 MiB has 16 pages of 1 MiB, not 17"},
        BadInput{{"--num-pages=18446744073709551615"}, ", not 18446744073709551615"},
        BadInput{{"--num-pages=18446744073709551616"}, "a whole number"},
        BadInput{{"--num-pages=2038", "--page-size=4096"}, "at most 2037"},
        BadInput{{"--page-size=0"}, "page size 0 does not divide"},
        BadInput{{"--page-size=1000"}, "page size 1000 does not divide"},
        BadInput{{"--page-size=18446744073709551615"}, "it takes a size"},
        BadInput{{"--page-size=33554432"}, "does not divide"},
        BadInput{{"--seed=abc"}, "--seed=abc is not valid: it takes a whole number"},
        BadInput{{"--seed=-1"}, "--seed=-1"}, BadInput{{"--seed="}, "--seed="},
        BadInput{{"--clients=2"}, "--clients is for a server whose clients are started by hand"},
        BadInput{{"--completion=first"}, "count or last"}, BadInput{{"--profile=x"}, "small"},
        BadInput{{"--nic=eth9"}, "rdmap79s0"},
        BadInput{{"--fabric=verbs"}, "sim, libfabric or auto"},
        BadInput{{"--fabric=sim", "--provider=tcp"}, "--provider=tcp is not simulated"},
        BadInput{{"--profile=p5", "--provider=verbs"}, "efa-direct and efa are"},
        BadInput{{"--fabric=sim", "00112233"}, "takes no address"},
        BadInput{{"00112233"}, "takes no address"}, BadInput{{"--provder=tcp"}, "unknown flag"},
        BadInput{{"-provider=tcp"}, "two dashes"}, BadInput{{"xyz"}, "hexadecimal"},
        BadInput{{"00", "1", "2", "3"}, "too many arguments: 3"},
        BadInput{{"00", "big"}, "--page-size=big is not valid: it takes a size"},
        BadInput{{"00", "4096", "-3"}, "--num-pages=-3 is not valid: it takes a whole number"}));

}  // namespace
}  // namespace drydock::apps::write
