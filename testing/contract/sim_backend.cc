// The contract suite on the simulated device.

#include <memory>
#include <string>
#include <vector>

#include "drydock/sim/driver/sim_fabric.h"
#include "drydock/testing/contract/simulated_backend.h"

namespace drydock::contract {
namespace {

using fabric::Capability;

class SimBackend final : public SimulatedBackend {
 public:
  SimBackend() : SimulatedBackend("sim", sim::OpenSimFabric) {}

  fabric::CapabilitySet ExpectedCapabilities() const override {
    using enum Capability;
    return {kMessages,
            kRemoteWrite,
            kRemoteRead,
            kImmediateData,
            kUnsolicitedImmediate,
            kMutualInsertion,
            kInject,
            kSourceAddress,
            kReceiverNotReadyRetry,
            kSolicitedImmediate,
            kCounters,
            kDatagram,
            kLocalRegistration};
  }
  Traits ExpectedTraits() const override { return kSimDeviceTraits; }
  // Behaviours that the device lacks, and the efa fabric adds.
  std::vector<std::string> NotApplicable() const override {
    return {"AtomicsContract.*",
            "CancelContract.*",
            "ClosingContract.LongMessageMayBeUnderWay",
            "DirectedContract.*",
            "InjectContract.TaggedMessageCanBeInjected",
            "MessageLimitContract.LongMessageIsCutAsAShortOneIs",
            "MultiReceiveContract.*",
            "SourceContract.TaggedReceiveNamesItsSender",
            "TaggedContract.*",
            "WaitContract.*"};
  }
};

}  // namespace

std::unique_ptr<Backend> MakeBackend() { return std::make_unique<SimBackend>(); }

}  // namespace drydock::contract
