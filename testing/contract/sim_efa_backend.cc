// The contract suite on the `efa` fabric of the simulator: the software protocol over the simulated
// device.

#include <memory>
#include <string>
#include <vector>

#include "drydock/sim/rdm/sim_rdm_fabric.h"
#include "drydock/testing/contract/simulated_backend.h"

namespace drydock::contract {
namespace {

using fabric::Capability;

class SimEfaBackend final : public SimulatedBackend {
 public:
  SimEfaBackend()
      : SimulatedBackend("sim efa", [](sim::World& world, sim::Node& node) {
          return sim::rdm::OpenSimRdmFabric(world, node);
        }) {}

  fabric::CapabilitySet ExpectedCapabilities() const override {
    return {Capability::kMessages,
            Capability::kRemoteWrite,
            Capability::kRemoteRead,
            Capability::kImmediateData,
            Capability::kUnsolicitedImmediate,
            Capability::kLongMessages,
            Capability::kSendOrder,
            Capability::kInject,
            Capability::kSourceAddress,
            Capability::kTaggedMessages,
            Capability::kDirectedReceive,
            Capability::kMultiReceive,
            Capability::kCancel,
            Capability::kAtomics,
            Capability::kCounters,
            Capability::kReceiverNotReadyRetry};
  }
  Traits ExpectedTraits() const override { return kSimProtocolTraits; }
  std::vector<std::string> NotApplicable() const override {
    return {"DatagramContract.*",
            "RetryContract.FailedMessageDoesNotComeLater",
            "RetryContract.FiniteRetriesEnd",
            "RetryContract.SevenMeansForEver",
            "SolicitedContract.*",
            "WaitContract.*"};
  }
};

}  // namespace

std::unique_ptr<Backend> MakeBackend() { return std::make_unique<SimEfaBackend>(); }

}  // namespace drydock::contract
