#include "drydock/testing/benchmarks/contract_end.h"

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "drydock/fabric/fabric.h"
#include "drydock/sim/driver/sim_fabric.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/world/world.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::bench {
namespace {

using ::drydock::testing_matchers::IsOk;
using ::drydock::testing_matchers::StatusIs;
using ::testing::HasSubstr;

constexpr std::size_t kLength = 4096;

// Two ends on a simulated link, live: polling drives the devices.
class ContractEndTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (Side* side : {&a_, &b_}) {
      side->fabric = sim::OpenSimFabric(world_, world_.AddNode("node"));
      auto end = ContractEnd::Open(*side->fabric, side->memory.data(), kLength);
      ASSERT_THAT(end, IsOk());
      side->end = *std::move(end);
    }
  }
  // Both ways: an EFA takes nothing from a peer that it does not know.
  void Connect() {
    ASSERT_THAT(a_.end->WriteTo(*b_.end), IsOk());
    ASSERT_THAT(b_.end->WriteTo(*a_.end), IsOk());
  }
  // Polls until it fails; false when it does not.
  bool Fails(ContractEnd& end) {
    for (int i = 0; i < 1000; ++i) {
      if (!end.Poll(sent_, arrived_)) return true;
    }
    return false;
  }

  struct Side {
    std::vector<std::byte> memory = std::vector<std::byte>(kLength);
    std::shared_ptr<fabric::Fabric> fabric;
    std::unique_ptr<ContractEnd> end;
  };
  sim::World world_{/*seed=*/1, sim::Profiles().front(), sim::kAsFastAsItGoes};
  Side a_;
  Side b_;
  Found sent_;
  Found arrived_;
};

TEST_F(ContractEndTest, PollAddsWhatCompletedHereAndWhatArrived) {
  Connect();
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(a_.end->Post({.bytes = 64, .first = 3, .count = 2}).posted, 2u);
  }
  Found nothing;
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(a_.end->Poll(sent_, nothing)) << a_.end->error();
    EXPECT_TRUE(b_.end->Poll(nothing, arrived_)) << b_.end->error();
  }
  EXPECT_EQ(sent_.completions, 4u);
  EXPECT_EQ(sent_.names, 14u);
  EXPECT_EQ(arrived_.completions, 4u);
  EXPECT_EQ(arrived_.names, 14u);
  EXPECT_EQ(arrived_.bytes, 256u);
  EXPECT_EQ(nothing.completions, 0u);
}

TEST_F(ContractEndTest, FailedCompletionFailsThePollAndSaysWhy) {
  Connect();
  EXPECT_EQ(a_.end->Post({.offset_bytes = kLength, .bytes = 64}).posted, 1u);
  EXPECT_TRUE(Fails(*a_.end));
  EXPECT_THAT(a_.end->error(),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("EFA status")));
  EXPECT_EQ(sent_.completions, 0u);
}

TEST_F(ContractEndTest, PostToNobodyFailsAndSaysWhy) {
  const BurstOutcome outcome = a_.end->Post({.bytes = 64});
  EXPECT_TRUE(outcome.failed);
  EXPECT_EQ(outcome.posted, 0u);
  EXPECT_THAT(a_.end->error(), StatusIs(absl::StatusCode::kNotFound, HasSubstr("post write")));
}

TEST_F(ContractEndTest, FullQueueIsNoFailure) {
  Connect();
  std::size_t posted = 0;
  BurstOutcome outcome;
  do {
    outcome = a_.end->Post({.bytes = 8, .count = kMostInBurst});
    posted += outcome.posted;
  } while (outcome.posted == kMostInBurst && posted < 1u << 20);
  EXPECT_FALSE(outcome.failed);
  EXPECT_LT(posted, 1u << 20);
  EXPECT_GT(posted, kMostInBurst);
  EXPECT_THAT(a_.end->error(), IsOk());
}

}  // namespace
}  // namespace drydock::bench
