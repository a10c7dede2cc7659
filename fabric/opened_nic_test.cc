#include "drydock/fabric/opened_nic.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "drydock/testing/mocks/mock_fabric.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::fabric {
namespace {

using ::testing::NiceMock;
using ::testing::Return;
using ::testing::ReturnRef;
using ::testing::UnorderedElementsAre;
using testing_matchers::IsOk;
using testing_matchers::StatusIs;

// A fabric whose NIC 3 opens every object but the one that `failing` names.
class OpenNicTest : public ::testing::Test {
 protected:
  absl::StatusOr<OpenedNic> Open(bool may_block = false, std::size_t queue_depth = 0) {
    NiceMock<MockFabric> fabric;
    ON_CALL(fabric, OpenDomain).WillByDefault([this](std::size_t nic) { return OpenDomain(nic); });
    return OpenNic(fabric, {.nic = 3, .may_block = may_block, .queue_depth = queue_depth});
  }

  absl::Status Say(const std::string& what) {
    opened_.push_back(what);
    return what == failing_ ? absl::AbortedError(what) : absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<Domain>> OpenDomain(std::size_t nic) {
    EXPECT_EQ(nic, 3u);
    auto domain = std::make_unique<NiceMock<MockDomain>>();
    ON_CALL(*domain, nic).WillByDefault(ReturnRef(info_));
    ON_CALL(*domain, OpenAddressVector)
        .WillByDefault([this]() -> absl::StatusOr<std::unique_ptr<AddressVector>> {
          const absl::Status status = Say("address vector");
          if (!status.ok()) return status;
          return std::make_unique<NiceMock<MockAddressVector>>();
        });
    ON_CALL(*domain, OpenCompletionQueue)
        .WillByDefault([this](const CompletionQueueOptions& options)
                           -> absl::StatusOr<std::unique_ptr<CompletionQueue>> {
          blocks_ = options.blocking_wait;
          depth_ = options.depth;
          const absl::Status status = Say("queue");
          if (!status.ok()) return status;
          return std::make_unique<NiceMock<MockCompletionQueue>>();
        });
    ON_CALL(*domain, OpenEndpoint)
        .WillByDefault(
            [this](const EndpointOptions& options) -> absl::StatusOr<std::unique_ptr<Endpoint>> {
              options_ = options;
              const absl::Status status = Say("endpoint");
              if (!status.ok()) return status;
              return std::make_unique<NiceMock<MockEndpoint>>();
            });
    return domain;
  }

  NicInfo info_;
  std::string failing_;
  std::vector<std::string> opened_;
  bool blocks_ = false;
  std::size_t depth_ = 0;
  EndpointOptions options_;
};

TEST_F(OpenNicTest, EndpointUsesTheQueueAndTheAddressVector) {
  const auto nic = Open();
  ASSERT_THAT(nic, IsOk());
  EXPECT_THAT(opened_, UnorderedElementsAre("address vector", "queue", "endpoint"));
  EXPECT_EQ(options_.send_queue, nic->queue.get());
  EXPECT_EQ(options_.receive_queue, nic->queue.get());
  EXPECT_EQ(options_.address_vector, nic->peers.get());
  EXPECT_NE(nic->endpoint, nullptr);
}

TEST_F(OpenNicTest, BlocksOnlyWhereItMayAndCan) {
  ASSERT_THAT(Open(/*may_block=*/true), IsOk());
  EXPECT_FALSE(blocks_);
  info_.capabilities.Add(Capability::kBlockingWait);
  ASSERT_THAT(Open(/*may_block=*/true), IsOk());
  EXPECT_TRUE(blocks_);
  ASSERT_THAT(Open(/*may_block=*/false), IsOk());
  EXPECT_FALSE(blocks_);
}

TEST_F(OpenNicTest, TheQueueHasTheDepthThatIsAskedFor) {
  ASSERT_THAT(Open(/*may_block=*/false, /*queue_depth=*/7), IsOk());
  EXPECT_EQ(depth_, 7u);
}

TEST_F(OpenNicTest, TellsWhatCouldNotBeOpened) {
  for (const char* what : {"address vector", "queue", "endpoint"}) {
    failing_ = what;
    EXPECT_THAT(Open(), StatusIs(absl::StatusCode::kAborted, what));
  }
}

}  // namespace
}  // namespace drydock::fabric
