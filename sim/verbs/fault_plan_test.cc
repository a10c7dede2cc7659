#include "drydock/sim/verbs/fault_plan.h"

#include <cstdlib>
#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"

namespace drydock::sim::verbs {
namespace {

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

}  // namespace
}  // namespace drydock::sim::verbs
