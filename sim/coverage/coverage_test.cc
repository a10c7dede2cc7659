// The matrix that the devices fill in, and files of requirements.

#include <cstdint>
#include <string>
#include <vector>

#include "drydock/fabric/coverage/report.h"
#include "drydock/sim/coverage/matrix.h"
#include "drydock/sim/coverage/outcome_counts.h"
#include "drydock/sim/coverage/requirements.h"
#include "drydock/sim/efa_status.h"
#include "drydock/sim/testing/lab.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::sim::coverage {
namespace {

using ::drydock::testing_matchers::StatusIs;
using fabric::coverage::Cell;
using fabric::coverage::PointKind;
using fabric::coverage::Report;
using sim_testing::Lab;
using sim_testing::Side;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

// ---- The matrix ----

TEST(MatrixTest, DevicesCountHowOperationsEnd) {
  Lab lab(1);
  Side& a = lab.Add("a");
  Side& b = lab.Add("b");
  lab.Introduce();
  OutcomeCounts counts;
  lab.world().observers().Add(counts);
  fabric::WriteRequest announced = a.WriteTo(b, 0, 64, 1);
  announced.immediate = 7;
  ASSERT_EQ(a.endpoint->Write(announced), fabric::ErrorCode::kOk);
  fabric::WriteRequest astray = a.WriteTo(b, 0, 64, 2);
  astray.target.key ^= 1;
  ASSERT_EQ(a.endpoint->Write(astray), fabric::ErrorCode::kOk);
  ASSERT_EQ(b.endpoint->Recv(b.RecvAt(0, 64, 3)), fabric::ErrorCode::kOk);
  ASSERT_EQ(a.endpoint->Send(a.SendTo(b, 0, 64, 4)), fabric::ErrorCode::kOk);
  ASSERT_EQ(b.endpoint->Read(b.ReadFrom(a, 0, 64, 5)), fabric::ErrorCode::kOk);
  lab.Until([&] { return a.completions.size() == 3 && b.completions.size() == 3; });
  Report report;
  lab.world().observers().Remove(counts);
  AddMatrix(lab.world(), counts, report);
  const std::string at_a = a.nic.name();
  const std::string at_b = b.nic.name();
  EXPECT_THAT(report.cells,
              ElementsAre(Pair(Cell{"read", "ok", at_b}, 1), Pair(Cell{"receive", "ok", at_b}, 1),
                          Pair(Cell{"remote_write", "ok", at_b}, 1),
                          Pair(Cell{"send", "ok", at_a}, 1), Pair(Cell{"write", "ok", at_a}, 1),
                          Pair(Cell{"write", "remote_address", at_a}, 1)));
}

TEST(MatrixTest, FullQueuesAreAnOutcome) {
  Lab lab(1);
  Side& a = lab.Add("a");
  Side& b = lab.Add("b");
  lab.Introduce();
  OutcomeCounts counts;
  lab.world().observers().Add(counts);
  while (a.endpoint->Write(a.WriteTo(b, 0, 64, 1)) == fabric::ErrorCode::kOk) {
  }
  while (b.endpoint->Recv(b.RecvAt(0, 64, 1)) == fabric::ErrorCode::kOk) {
  }
  Report report;
  lab.world().observers().Remove(counts);
  AddMatrix(lab.world(), counts, report);
  EXPECT_EQ(report.cells.at({"write", "again", a.nic.name()}), 1u);
  EXPECT_EQ(report.cells.at({"receive", "again", b.nic.name()}), 1u);
}

TEST(MatrixTest, EveryStatusOfEfaHasAWordOfItsOwn) {
  ASSERT_EQ(OutcomeNames().size(), OutcomeCounts::kOutcomes);
  EXPECT_EQ(OutcomeNames()[OutcomeCounts::kAgain], "again");
  EXPECT_EQ(OutcomeNames()[static_cast<std::size_t>(EfaStatus::kRemoteBadAddress)],
            "remote_address");
  for (std::uint8_t status = 0; status < OutcomeCounts::kOther; ++status) {
    EXPECT_EQ(OutcomeNames()[status].empty(), !IsKnown(status)) << int{status};
  }
  EXPECT_TRUE(IsPossible("write", "remote_address"));
  EXPECT_FALSE(IsPossible("remote_write", "remote_address"));
  EXPECT_FALSE(IsPossible("read", "receiver_not_ready"));
  EXPECT_TRUE(IsPossible("write", "unknown_peer"));
  EXPECT_FALSE(IsPossible("send", "unknown_peer"));
}

// ---- Requirements ----

Report SomeRuns() {
  Report report;
  report.points[{PointKind::kSometimes, "retried"}] = {3, 4, 5};
  report.points[{PointKind::kSometimes, "gave up"}] = {0, 0, 5};
  report.points[{PointKind::kReachable, "end"}] = {9, 9, 0};
  report.points[{PointKind::kAlways, "window"}] = {9, 90, 0};
  report.cells[{"write", "ok", "server/rdmap79s0"}] = 100;
  report.cells[{"send", "receiver_not_ready", "client/rdmap79s0"}] = 1;
  return report;
}

TEST(RequirementsTest, WhatIsCoveredIsNotMissed) {
  ASSERT_OK_AND_ASSIGN(const auto requirements, ParseRequirements(R"(
# everything that there is
sometimes "retried"
  reachable "end"
always "window"

cell write ok server/rdmap79s0
cell * ok *
cell send * client/*
cell * * *
)",
                                                                  "file"));
  EXPECT_EQ(requirements.size(), 7u);
  EXPECT_EQ(requirements[0].line, 3);
  EXPECT_THAT(NotCovered(requirements, SomeRuns()), IsEmpty());
}

TEST(RequirementsTest, WhatIsNotCoveredIsNamed) {
  ASSERT_OK_AND_ASSIGN(const auto requirements, ParseRequirements(R"(sometimes "gave up"
sometimes "retried"
sometimes "nowhere"
reachable "retried"
always "end"
cell write remote_address *
cell write ok client/*
cell write ok server/rdmap79s
cell read ok   *)",
                                                                  "file"));
  EXPECT_THAT(NotCovered(requirements, SomeRuns()),
              ElementsAre("sometimes \"gave up\"", "sometimes \"nowhere\"", "reachable \"retried\"",
                          "always \"end\"", "cell write remote_address *", "cell write ok client/*",
                          "cell write ok server/rdmap79s", "cell read ok *"));
}

TEST(RequirementsTest, MistakesAreOneLineWithTheirPlace) {
  struct Case {
    const char* text;
    const char* complaint;
  };
  const std::vector<Case> cases = {
      {"", "file: it requires nothing"},
      {"# nothing\n\n", "file: it requires nothing"},
      {"reachable \"x\"\nnever \"y\"", "file:2: 'never' is unknown: a line is always, sometimes"},
      {"sometimes retried", "file:1: 'retried' is no name: it takes one in double quotes"},
      {"sometimes", "file:1: '' is no name"},
      {"sometimes \"\"", "file:1: '\"\"' is no name"},
      {"sometimes \"a\" \"b\"", "file:1: '\"a\" \"b\"' is no name"},
      {"reachable \"a\" # why", "file:1: '\"a\" # why' is no name"},
      {"cell write ok",
       "file:1: a cell has three words, OPERATION OUTCOME NIC, and this one has 2"},
      {"cell write ok a b", "this one has 4"},
      {"cell wrote ok *", "file:1: 'wrote' is no operation: there are *, send, receive, write"},
      {"cell write good *", "file:1: 'good' is no outcome: there are *, ok, flushed"},
      {"cell write ok *a", "file:1: '*a': a * is the end of a NIC's name"},
      {"Cell write ok *", "file:1: 'Cell' is unknown"}};
  for (const Case& bad : cases) {
    const absl::Status status = ParseRequirements(bad.text, "file").status();
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(bad.complaint)));
    EXPECT_EQ(status.message().find('\n'), absl::string_view::npos) << status;
  }
}

}  // namespace
}  // namespace drydock::sim::coverage
