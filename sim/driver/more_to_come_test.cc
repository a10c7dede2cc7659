// Posts that wait for the last one of their batch.

#include "drydock/fabric/more_to_come.h"

#include <chrono>
#include <cstdint>
#include <string>

#include "drydock/sim/checks/checks.h"
#include "drydock/sim/testing/lab.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using namespace std::chrono_literals;

using fabric::ErrorCode;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class MoreToComeTest : public ::testing::Test {
 protected:
  MoreToComeTest() : lab_(1), a_(lab_.Add("a")), b_(lab_.Add("b")) { lab_.Introduce(); }

  fabric::MoreToCome& batch() { return *a_.endpoint->power<fabric::MoreToCome>(); }
  void Write(std::uint64_t context) {
    ASSERT_EQ(a_.endpoint->Write(a_.WriteTo(b_, 64 * context, 64, context)), ErrorCode::kOk);
  }
  std::string Waits() { return lab_.world().checks().DescribeWaits().ToText(); }

  Lab lab_;
  Side& a_;
  Side& b_;
};

TEST_F(MoreToComeTest, ABatchIsServedWithItsLastPost) {
  batch().SetMoreToCome(true);
  Write(1);
  Write(2);
  lab_.Watch(5ms);
  EXPECT_TRUE(a_.completions.empty());
  batch().SetMoreToCome(false);
  lab_.Watch(5ms);
  EXPECT_TRUE(a_.completions.empty()) << "taking it back rings for nothing";
  Write(3);
  for (const std::uint64_t context : {1u, 2u, 3u}) EXPECT_TRUE(lab_.Take(a_, context).ok());
}

TEST_F(MoreToComeTest, AFullBatchIsServed) {
  batch().SetMoreToCome(true);
  const std::uint64_t most = a_.nic.profile().device.max_tx_batch;
  for (std::uint64_t context = 1; context <= most + 1; ++context) Write(context);
  EXPECT_TRUE(lab_.Take(a_, 1).ok());
  batch().SetMoreToCome(false);
  Write(most + 2);
  for (std::uint64_t context = 2; context <= most + 2; ++context) {
    EXPECT_TRUE(lab_.Take(a_, context).ok());
  }
}

TEST_F(MoreToComeTest, WhoWaitsForWhomNamesTheOpenBatch) {
  batch().SetMoreToCome(true);
  Write(1);
  lab_.Watch(5ms);
  EXPECT_THAT(Waits(), HasSubstr("waits for a doorbell: its batch is open"));
  batch().SetMoreToCome(false);
  Write(2);
  for (const std::uint64_t context : {1u, 2u}) EXPECT_TRUE(lab_.Take(a_, context).ok());
  EXPECT_THAT(Waits(), Not(HasSubstr("doorbell")));
}

TEST_F(MoreToComeTest, ABatchThatIsLeftNeverCompletes) {
  Write(1);
  batch().SetMoreToCome(true);
  Write(2);
  Write(3);
  EXPECT_TRUE(lab_.Take(a_, 1).ok());
  lab_.world().CheckRequests();
  EXPECT_THAT(lab_.world().findings(), IsEmpty()) << "the batch is open";
  ASSERT_TRUE(a_.endpoint->Close().ok());
  EXPECT_THAT(lab_.world().findings(), IsEmpty()) << "the NIC has not heard of it";
}

TEST_F(MoreToComeTest, AClosedEndpointHasNone) {
  ASSERT_TRUE(a_.endpoint->Close().ok());
  EXPECT_EQ(a_.endpoint->power<fabric::MoreToCome>(), nullptr);
}

}  // namespace
}  // namespace drydock::sim_testing
