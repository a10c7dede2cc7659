// The contract suite on the simulator. The seed is what --gtest_random_seed says, or 1: a failing
// test names it.

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "sim/driver/sim_fabric.h"
#include "sim/world/world.h"
#include "testing/contract/backend.h"

namespace contract {
namespace {

using namespace std::chrono_literals;
using fabric::Capability;

class SimBackend final : public Backend {
 public:
  explicit SimBackend(std::uint64_t seed)
      : world_(seed, **sim::FindProfile("small")),
        initiator_(sim::OpenSimFabric(world_, world_.AddNode("initiator"))),
        target_(sim::OpenSimFabric(world_, world_.AddNode("target"))) {}

  fabric::Fabric& initiator() override { return *initiator_; }
  fabric::Fabric& target() override { return *target_; }
  coro::Time Now() override { return world_.Now(); }
  void Idle() override { world_.WaitUntil(world_.Now() + 10us); }
  coro::Duration Patience() const override { return 10s; }
  coro::Duration Quiet() const override { return 100ms; }
  fabric::Address NobodysAddress() override {
    return sim::EfaAddress{.gid = {0xfe, 0x80, 9}, .queue_pair = 3, .qkey = 4}.Encode();
  }
  std::string Description() const override { return absl::StrCat("sim, seed ", world_.seed()); }
  fabric::CapabilitySet ExpectedCapabilities() const override {
    using enum Capability;
    return {kMessages,
            kRemoteWrite,
            kRemoteRead,
            kImmediateData,
            kUnsolicitedImmediate,
            kRemoteErrors,
            kClosedPeerErrors,
            kRemoteWriteLength,
            kSourceTruncation,
            kMutualInsertion,
            kInject,
            kSourceAddress,
            kReceiverNotReadyRetry,
            kSolicitedImmediate,
            kCounters,
            kDatagram,
            kReadProtection,
            kSilentWriteProtection,
            kRevocation,
            kFailureIsolation,
            kCloseInFlight,
            kLongTruncation,
            kErrorCounts,
            kVirtualTime};
  }
  // What the device cannot do, and the efa fabric adds.
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

 private:
  sim::World world_;
  std::unique_ptr<fabric::Fabric> initiator_;
  std::unique_ptr<fabric::Fabric> target_;
};

}  // namespace

std::unique_ptr<Backend> MakeBackend() {
  // The flag: without it, GoogleTest's own seed is taken from the clock.
  const int seed = GTEST_FLAG_GET(random_seed);
  return std::make_unique<SimBackend>(seed == 0 ? 1 : static_cast<std::uint64_t>(seed));
}

}  // namespace contract
