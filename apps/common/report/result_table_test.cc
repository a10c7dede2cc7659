#include "drydock/apps/common/report/result_table.h"

#include <chrono>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/flags/reflection.h"
#include "drydock/apps/common/command_line.h"
#include "drydock/apps/common/report/output_flags.h"
#include "drydock/apps/common/report/svg_flag.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::apps {
namespace {

using ::drydock::testing_matchers::IsOk;
using ::drydock::testing_matchers::IsOkAndHolds;
using ::drydock::testing_matchers::StatusIs;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

ResultTable Example() {
  ResultTable table("demo", Origin::kSimulated,
                    {{"NIC", "nic"},
                     {"moved", "bytes", "B"},
                     {"took", "ns", "ns"},
                     {"NUMA", "numa_node"},
                     {"right", "correct"},
                     {"Gbit/s", "gbps", "Gbit/s"}});
  table.AddRow({TextCell("a, \"b\""), BytesCell(16 << 20),
                DurationCell(std::chrono::milliseconds(2)), SignedCell(-1), YesCell(true),
                NumberCell(91.26, 1)});
  table.AddRow({TextCell("c"), BytesCell(100), NoCell(), SignedCell(1), YesCell(false), NoCell()});
  table.AddNote("one was left out");
  return table;
}

TEST(ResultTableTest, TextIsForAPerson) {
  EXPECT_EQ(ToText(Example()),
            "NIC     moved   took  NUMA  right  Gbit/s\n"
            "------  ------  ----  ----  -----  ------\n"
            "a, \"b\"  16 MiB  2 ms  -1    yes      91.3\n"
            "c       100 B   -        1  no     -\n"
            "\n"
            "one was left out\n");
}

TEST(ResultTableTest, CsvHasTheKeysAndTheValues) {
  EXPECT_EQ(ToCsv(Example()),
            "nic,bytes,ns,numa_node,correct,gbps\n"
            "\"a, \"\"b\"\"\",16777216,2000000,-1,true,91.3\n"
            "c,100,,1,false,\n");
}

TEST(ResultTableTest, JsonSaysWhatTheFiguresAre) {
  const std::string json = ToJson(Example());
  EXPECT_THAT(json, HasSubstr("\"origin\": \"simulated\""));
  EXPECT_THAT(json, HasSubstr("\"gbps\": \"Gbit/s\""));
  EXPECT_THAT(json, HasSubstr("\"gbps\": 91.26"));
  EXPECT_THAT(json, HasSubstr("\"bytes\": 16777216"));
  EXPECT_THAT(json, HasSubstr("\"ns\": null"));
  EXPECT_THAT(json, HasSubstr("\"one was left out\""));
}

TEST(ResultTableTest, ARecordIsItsOnlyRow) {
  ResultTable table("demo", Origin::kMeasured, {{"fabric"}, {"pages"}, {"faults"}});
  table.AddRow({TextCell("t\xff"), CountCell(3), ListCell({"a", "b"})});  // not UTF-8
  EXPECT_EQ(ToRecordJson(table, -1),
            "{\"fabric\":\"t\xEF\xBF\xBD\",\"pages\":3,\"faults\":[\"a\",\"b\"]}\n");
  EXPECT_THAT(ToCsv(table), HasSubstr(",3,a; b\n"));
}

TEST(ResultTableTest, ChartsAreOfTheFiguresAndSayWhatTheyAre) {
  const std::string svg = ToSvg(Example());
  EXPECT_THAT(svg, HasSubstr("demo: Gbit/s"));
  EXPECT_THAT(svg, HasSubstr("Gbit/s, simulated"));
  EXPECT_THAT(svg, Not(HasSubstr("demo: moved")));
}

// ---- Flags ----

class OutputFlagsTest : public ::testing::Test {
 protected:
  absl::FlagSaver saver_;
};

TEST_F(OutputFlagsTest, OneFormAtATime) {
  EXPECT_THAT(OutputFormFromFlags(), IsOkAndHolds(OutputForm::kText));
  EXPECT_FALSE(OutputIsForScripts());
  ASSERT_THAT(ParseFlags({"--csv"}), IsOk());
  EXPECT_THAT(OutputFormFromFlags(), IsOkAndHolds(OutputForm::kCsv));
  EXPECT_TRUE(OutputIsForScripts());
  ASSERT_THAT(ParseFlags({"--json"}), IsOk());
  EXPECT_THAT(OutputFormFromFlags(), StatusIs(kInvalid, HasSubstr("--json or --csv")));
  ASSERT_THAT(ParseFlags({"--nocsv"}), IsOk());
  EXPECT_THAT(OutputFormFromFlags(), IsOkAndHolds(OutputForm::kJson));
}

TEST_F(OutputFlagsTest, PictureGoesToItsFileOrIsNotDrawn) {
  EXPECT_THAT(DrawIfAsked([]() -> std::string {
                ADD_FAILURE() << "nobody asked";
                return "";
              }),
              IsOk());
  const std::string path = ::testing::TempDir() + "/picture.svg";
  ASSERT_THAT(ParseFlags({"--svg=" + path}), IsOk());
  ASSERT_THAT(DrawIfAsked([] { return "<svg/>"; }), IsOk());
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str(), "<svg/>");
  ASSERT_THAT(ParseFlags({"--svg=/no/such/folder/x"}), IsOk());
  EXPECT_THAT(DrawIfAsked([] { return ""; }), StatusIs(kInvalid, HasSubstr("cannot be written")));
}

}  // namespace
}  // namespace drydock::apps
