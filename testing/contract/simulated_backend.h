// The base of the simulator's backends: a small machine twice, in a world whose seed is that of
// --gtest_random_seed, or 1. A failing test names it.

#ifndef DRYDOCK_TESTING_CONTRACT_SIMULATED_BACKEND_H_
#define DRYDOCK_TESTING_CONTRACT_SIMULATED_BACKEND_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "drydock/fabric/fabric.h"
#include "drydock/sim/world/world.h"
#include "drydock/testing/contract/backend.h"

namespace drydock::contract {

// The seed of this run of the test.
std::uint64_t Seed();

// How the simulated device behaves.
inline const Traits kSimDeviceTraits = {
    Trait::kRemoteErrors,     Trait::kClosedPeerErrors, Trait::kRemoteWriteLength,
    Trait::kSourceTruncation, Trait::kReadProtection,   Trait::kSilentWriteProtection,
    Trait::kRevocation,       Trait::kFailureIsolation, Trait::kCloseInFlight,
    Trait::kLongTruncation,   Trait::kErrorCounts,      Trait::kUnreachableErrors};

// How the software protocol over it behaves: what is sent is taken, and cut at the target.
inline const Traits kSimProtocolTraits = {
    Trait::kRemoteErrors,       Trait::kClosedPeerErrors,      Trait::kRemoteWriteLength,
    Trait::kReadProtection,     Trait::kSilentWriteProtection, Trait::kRevocation,
    Trait::kFailureIsolation,   Trait::kCloseInFlight,         Trait::kLongTruncation,
    Trait::kUnexpectedWildcard, Trait::kErrorCounts,           Trait::kUnreachableErrors};

class SimulatedBackend : public Backend {
 public:
  // Opens the fabric of a machine; world and node outlive it.
  using Open = std::function<std::unique_ptr<fabric::Fabric>(sim::World&, sim::Node&)>;

  // `name` is for the log.
  SimulatedBackend(std::string name, const Open& open);

  fabric::Fabric& initiator() override { return *initiator_; }
  fabric::Fabric& target() override { return *target_; }
  coro::Time Now() override { return world_.Now(); }
  void Idle() override;
  coro::Duration Patience() const override;
  coro::Duration Quiet() const override;
  fabric::Address NobodysAddress() override;
  std::string Description() const override;

 protected:
  sim::World& world() { return world_; }

 private:
  const std::string name_;
  sim::World world_;
  const std::unique_ptr<fabric::Fabric> initiator_;
  const std::unique_ptr<fabric::Fabric> target_;
};

}  // namespace drydock::contract

#endif  // DRYDOCK_TESTING_CONTRACT_SIMULATED_BACKEND_H_
