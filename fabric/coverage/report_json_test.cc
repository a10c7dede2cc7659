#include "drydock/fabric/coverage/report_json.h"

#include "gtest/gtest.h"

namespace drydock::fabric::coverage {
namespace {

TEST(ReportJsonTest, HasEveryPointAndCell) {
  Report report;
  report.points[{PointKind::kSometimes, "retried"}] = {3, 4, 5};
  report.cells[{"write", "ok", "server/a"}] = 100;
  report.cells[{"write", "remote_address", "server/a"}] = 2;
  EXPECT_EQ(ToJson(report), nlohmann::json::parse(R"({
      "points": [{"kind": "sometimes", "name": "retried", "runs": 3, "held": 4, "failed": 5}],
      "cells": [
          {"operation": "write", "outcome": "ok", "nic": "server/a", "count": 100},
          {"operation": "write", "outcome": "remote_address", "nic": "server/a", "count": 2}]})"));
}

TEST(ReportJsonTest, NothingIsEmptyLists) {
  EXPECT_EQ(ToJson(Report()), nlohmann::json::parse(R"({"points": [], "cells": []})"));
}

}  // namespace
}  // namespace drydock::fabric::coverage
