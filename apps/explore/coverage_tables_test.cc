#include "drydock/apps/explore/coverage_tables.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::apps {
namespace {

using fabric::coverage::PointKind;
using fabric::coverage::Report;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

Report SomeRuns() {
  Report report;
  report.points[{PointKind::kSometimes, "retried"}] = {3, 4, 5};
  report.cells[{"write", "ok", "server/a"}] = 100;
  report.cells[{"write", "remote_address", "server/a"}] = 2;
  report.cells[{"send", "ok", "client/a"}] = 7;
  return report;
}

TEST(CoverageTablesTest, WhatWasSeenHasARow) {
  EXPECT_EQ(FormatCoverage(SomeRuns(), CoverageDetail::kSeen),
            "\n"
            "point      name     held in  held  did not\n"
            "---------  -------  -------  ----  -------\n"
            "sometimes  retried        3     4        5\n"
            "\n"
            "operation  outcome         client/a  server/a\n"
            "---------  --------------  --------  --------\n"
            "send       ok                     7  -\n"
            "write      ok              -              100\n"
            "write      remote_address  -                2\n");
}

TEST(CoverageTablesTest, AllAlsoHasWhatNobodySaw) {
  const std::string text = FormatCoverage(SomeRuns(), CoverageDetail::kAll);
  EXPECT_THAT(text, AllOf(HasSubstr("write         unreachable"), HasSubstr("read          ok"),
                          HasSubstr("receive       again")));
  EXPECT_THAT(text, Not(AnyOf(HasSubstr("remote_write  unreachable"), HasSubstr("other"))));
}

TEST(CoverageTablesTest, NothingIsNoTable) {
  EXPECT_EQ(FormatCoverage(Report(), CoverageDetail::kAll), "");
  EXPECT_EQ(FormatCoverage(SomeRuns(), CoverageDetail::kNone), "");
}

}  // namespace
}  // namespace drydock::apps
