// The offers of a fabric, and which openings it refuses.

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "drydock/testing/contract/contract_test.h"

namespace drydock::contract {
namespace {

using fabric::Capability;
using fabric::Endpoint;
using fabric::EndpointOptions;
using ::testing::AnyOf;
using testing_matchers::IsOk;
using testing_matchers::StatusIs;

class OpenContract : public ContractTest {
 protected:
  static auto IsInvalid() { return StatusIs(absl::StatusCode::kInvalidArgument); }

  EndpointOptions Parts() {
    return {.send_queue = target_.queue.get(),
            .receive_queue = target_.queue.get(),
            .address_vector = target_.peers.get()};
  }
  absl::Status Try(const EndpointOptions& options) {
    return target_.domain->OpenEndpoint(options).status();
  }
};

// A capability that appears or vanishes changes what programs may rely on.
TEST_F(OpenContract, CapabilitiesAreTheExpectedOnes) {
  for (Side* side : {&initiator_, &target_}) {
    for (const fabric::CapabilityInfo& info : fabric::CapabilityTable()) {
      EXPECT_EQ(side->domain->nic().capabilities.Has(info.capability),
                backend_->ExpectedCapabilities().Has(info.capability))
          << info.name;
    }
  }
}

TEST_F(OpenContract, FabricDescribesItself) {
  for (fabric::Fabric* fabric : {&backend_->initiator(), &backend_->target()}) {
    EXPECT_FALSE(fabric->description().empty());
    ASSERT_FALSE(fabric->nics().empty());
    for (const fabric::NicInfo& nic : fabric->nics()) {
      EXPECT_FALSE(nic.name.empty());
      EXPECT_FALSE(nic.provider.empty());
    }
  }
}

TEST_F(OpenContract, EveryNicCanBeOpened) {
  const auto nics = backend_->target().nics();
  for (std::size_t i = 0; i < nics.size(); ++i) {
    ASSERT_OK_AND_ASSIGN(auto domain, backend_->target().OpenDomain(i));
    EXPECT_EQ(domain->nic().name, nics[i].name);
    EXPECT_EQ(domain->nic().provider, nics[i].provider);
    EXPECT_THAT(domain->Close(), IsOk());
  }
}

TEST_F(OpenContract, NicThatDoesNotExistIsRefused) {
  for (const std::size_t nic :
       {backend_->target().nics().size(), std::numeric_limits<std::size_t>::max()}) {
    EXPECT_THAT(backend_->target().OpenDomain(nic).status(), IsInvalid());
  }
}

// Zero would mean that the operation does not exist.
TEST_F(OpenContract, LimitsAgreeWithTheCapabilities) {
  const fabric::Limits& limit = limits();
  EXPECT_EQ(limit.max_message_bytes > 0, Has(Capability::kMessages));
  EXPECT_EQ(limit.max_rma_bytes > 0, Has(Capability::kRemoteWrite) || Has(Capability::kRemoteRead));
  EXPECT_EQ(limit.immediate_bytes >= 4, Has(Capability::kImmediateData));
  EXPECT_GT(limit.send_queue_depth, 0u);
  EXPECT_GT(limit.receive_queue_depth, 0u);
  EXPECT_GE(limit.max_message_bytes, kMessageBytes);
  // A default queue must not overrun when it serves one endpoint.
  EXPECT_GE(limit.completion_queue_depth, limit.send_queue_depth + limit.receive_queue_depth);
}

TEST_F(OpenContract, EndpointNeedsAllItsParts) {
  EndpointOptions without = Parts();
  without.send_queue = nullptr;
  EXPECT_THAT(Try(without), IsInvalid());
  without = Parts();
  without.receive_queue = nullptr;
  EXPECT_THAT(Try(without), IsInvalid());
  without = Parts();
  without.address_vector = nullptr;
  EXPECT_THAT(Try(without), IsInvalid());
  EXPECT_THAT(Try(Parts()), IsOk());
}

// Objects of two domains do not go together, though the NIC is the same.
TEST_F(OpenContract, PartsOfAnotherDomainAreRefused) {
  OpenThird();
  EndpointOptions mixed = Parts();
  mixed.send_queue = third_.queue.get();
  EXPECT_THAT(Try(mixed), IsInvalid());
  mixed = Parts();
  mixed.receive_queue = third_.queue.get();
  EXPECT_THAT(Try(mixed), IsInvalid());
  mixed = Parts();
  mixed.address_vector = third_.peers.get();
  EXPECT_THAT(Try(mixed), IsInvalid());
}

TEST_F(OpenContract, ClosedPartsAreRefused) {
  const auto refused = AnyOf(IsInvalid(), StatusIs(absl::StatusCode::kFailedPrecondition));
  ASSERT_OK_AND_ASSIGN(auto queue, target_.domain->OpenCompletionQueue({}));
  ASSERT_OK_AND_ASSIGN(auto peers, target_.domain->OpenAddressVector());
  ASSERT_THAT(queue->Close(), IsOk());
  ASSERT_THAT(peers->Close(), IsOk());
  EndpointOptions options = Parts();
  options.send_queue = queue.get();
  EXPECT_THAT(Try(options), refused);
  options = Parts();
  options.address_vector = peers.get();
  EXPECT_THAT(Try(options), refused);
}

// Where there are few endpoints, the last is followed by a refusal, and closing one makes room
// again.
TEST_F(OpenContract, EndpointsCanRunOut) {
  constexpr std::size_t kMany = 40;
  std::vector<std::unique_ptr<Endpoint>> endpoints;
  absl::StatusOr<std::unique_ptr<Endpoint>> opened = target_.domain->OpenEndpoint(Parts());
  while (opened.ok() && endpoints.size() < kMany) {
    endpoints.push_back(*std::move(opened));
    opened = target_.domain->OpenEndpoint(Parts());
  }
  EXPECT_EQ(opened.ok(), limits().max_endpoints > kMany);
  if (!opened.ok()) {
    EXPECT_THAT(opened.status(), StatusIs(absl::StatusCode::kResourceExhausted));
    EXPECT_EQ(endpoints.size() + 1, limits().max_endpoints);
    endpoints.pop_back();
    EXPECT_THAT(Try(Parts()), IsOk());
  }
}

}  // namespace
}  // namespace drydock::contract
