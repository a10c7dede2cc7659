#include "drydock/sim/verbs/fault_plan.h"

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/fabric/faults/engine.h"
#include "drydock/fabric/faults/plan.h"
#include "drydock/fabric/operation.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::sim::verbs {
namespace {

using fabric::faults::Fault;
using fabric::faults::FaultRule;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

absl::Status Load(const std::string& rules) {
  const char* const folder = std::getenv("TEST_TMPDIR");
  const std::string file = std::string(folder != nullptr ? folder : "/tmp") + "/loaded-plan.json";
  std::ofstream(file) << R"({"mode": "adversarial", "rules": [)" << rules << "]}";
  return LoadFaults(file, 1).status();
}

TEST(FaultPlanTest, FaultsOfTheDeviceAndOfCallsAreLoaded) {
  for (const char* fault : {"packet_loss", "torn_placement", "send_queue_full", "flushed"}) {
    const absl::Status status = Load(std::string(R"({"fault": ")") + fault + R"("})");
    EXPECT_TRUE(status.ok()) << status;
  }
}

// Their points are asked by a driver that is not there: they would never fire.
TEST(FaultPlanTest, FaultsOfAnotherDriverAreRefused) {
  for (const char* fault : {"send_queue_depth", "receive_queue_depth", "inject_limit",
                            "completion_queue_depth", "late_introduction", "unsignalled_error"}) {
    const absl::Status status =
        Load(std::string(R"({"fault": "flushed"}, {"name": "it", "fault": ")") + fault + R"("})");
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << fault;
    EXPECT_EQ(status.message(),
              std::string("rule 2 (it): ") + fault +
                  " is applied with Drydock's own driver, which efa-run replaces");
  }
}

TEST(FaultPlanTest, SaysWhatDoesNothingBetweenProcesses) {
  FaultRule torn = FaultRule::Of(Fault::kTornPlacement, "torn");
  FaultRule reads = FaultRule::Of(Fault::kTornPlacement, "reads");
  reads.when.operations = {fabric::OperationKind::kRead};
  const FaultRule lost = FaultRule::Of(Fault::kLostPlacement, "lost");
  const FaultRule flood = FaultRule::Of(Fault::kImmediateFlood, "flood");
  EXPECT_THAT(IdleBetweenProcesses({.rules = {lost, torn, flood}}),
              ElementsAre("rule 2 (torn): torn_placement does nothing to writes and messages "
                          "between processes",
                          "rule 3 (flood): immediate_flood does nothing between processes"));
  EXPECT_THAT(IdleBetweenProcesses({.rules = {lost, reads}}), IsEmpty());
}

}  // namespace
}  // namespace drydock::sim::verbs
