// doctor's question to rdma-core, answered by the simulated device through the same public
// interface: the prototypes that doctor has of its own are the libraries'.

#include <cstdlib>

#include "absl/status/status.h"
#include "drydock/apps/doctor/probes.h"
#include "drydock/sim/testing/unique_name.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::apps::doctor {
namespace {

TEST(DoctorDevicesTest, EveryNicTellsWhatItCan) {
  setenv("DRYDOCK_EFA_PROFILE", "p5", 1);
  setenv("DRYDOCK_EFA_NICS", "2", 1);
  setenv("DRYDOCK_EFA_FABRIC", sim_testing::UniqueName("doctor").c_str(), 1);
  const char* library = std::getenv("DRYDOCK_VERBS");
  ASSERT_NE(library, nullptr);
  LiveProbes probes;
  const auto answers = probes.AskDevices(library, library);
  ASSERT_TRUE(answers.ok()) << answers.status();
  ASSERT_EQ(answers->size(), 2u);
  EXPECT_EQ(answers->front().name, "rdmap79s0");
  for (const DeviceAnswer& answer : *answers) {
    EXPECT_TRUE(answer.opened);
    EXPECT_EQ(answer.capabilities & 0xb, 0xbu);  // read, receiver-not-ready retry, write
    EXPECT_EQ(answer.max_rdma_bytes, 1u << 30);
  }
}

TEST(DoctorDevicesTest, WhatIsNoLibraryIsUnavailable) {
  LiveProbes probes;
  EXPECT_EQ(probes.AskDevices("/proc/meminfo", "/proc/meminfo").status().code(),
            absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace drydock::apps::doctor
