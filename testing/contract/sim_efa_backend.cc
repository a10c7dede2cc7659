// The contract suite on the `efa` fabric of the simulator: the software protocol over the simulated
// device. The seed is what --gtest_random_seed says, or 1: a failing test names it.

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "sim/efa_address.h"
#include "sim/profile/profile.h"
#include "sim/rdm/sim_rdm_fabric.h"
#include "sim/world/world.h"
#include "testing/contract/backend.h"

namespace contract {
namespace {

using namespace std::chrono_literals;
using fabric::Capability;

class SimEfaBackend final : public Backend {
 public:
  explicit SimEfaBackend(std::uint64_t seed)
      : world_(seed, **sim::FindProfile("small")),
        initiator_(sim::rdm::OpenSimRdmFabric(world_, world_.AddNode("initiator"))),
        target_(sim::rdm::OpenSimRdmFabric(world_, world_.AddNode("target"))) {}

  fabric::Fabric& initiator() override { return *initiator_; }
  fabric::Fabric& target() override { return *target_; }
  coro::Time Now() override { return world_.Now(); }
  void Idle() override { world_.WaitUntil(world_.Now() + 10us); }
  coro::Duration Patience() const override { return 10s; }
  coro::Duration Quiet() const override { return 100ms; }
  fabric::Address NobodysAddress() override {
    return sim::EfaAddress{.gid = {0xfe, 0x80, 9}, .queue_pair = 3, .qkey = 4}.Encode();
  }
  std::string Description() const override { return absl::StrCat("sim efa, seed ", world_.seed()); }
  fabric::CapabilitySet ExpectedCapabilities() const override {
    return {Capability::kMessages,
            Capability::kRemoteWrite,
            Capability::kRemoteRead,
            Capability::kImmediateData,
            Capability::kUnsolicitedImmediate,
            Capability::kLongMessages,
            Capability::kSendOrder,
            Capability::kRemoteErrors,
            Capability::kClosedPeerErrors,
            Capability::kRemoteWriteLength,
            Capability::kInject,
            Capability::kSourceAddress,
            Capability::kTaggedMessages,
            Capability::kDirectedReceive,
            Capability::kMultiReceive,
            Capability::kCancel,
            Capability::kAtomics,
            Capability::kCounters,
            Capability::kErrorCounts,
            Capability::kReceiverNotReadyRetry,
            Capability::kReadProtection,
            Capability::kSilentWriteProtection,
            Capability::kRevocation,
            Capability::kFailureIsolation,
            Capability::kCloseInFlight,
            Capability::kLongTruncation,
            Capability::kUnexpectedWildcard,
            Capability::kVirtualTime};
  }
  std::vector<std::string> NotApplicable() const override {
    return {"DatagramContract.*",
            "RetryContract.FailedMessageDoesNotComeLater",
            "RetryContract.FiniteRetriesEnd",
            "RetryContract.SevenMeansForEver",
            "SolicitedContract.*",
            "WaitContract.*"};
  }

 private:
  sim::World world_;
  std::unique_ptr<fabric::Fabric> initiator_;
  std::unique_ptr<fabric::Fabric> target_;
};

}  // namespace

std::unique_ptr<Backend> MakeBackend() {
  // The flag: without it, GoogleTest's own seed is taken from the clock.
  const int seed = GTEST_FLAG_GET(random_seed);
  return std::make_unique<SimEfaBackend>(seed == 0 ? 1 : static_cast<std::uint64_t>(seed));
}

}  // namespace contract
