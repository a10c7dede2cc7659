#include "drydock/testing/contract/simulated_backend.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/sim/efa_address.h"
#include "drydock/sim/profile/profile.h"
#include "gtest/gtest.h"

namespace drydock::contract {

using namespace std::chrono_literals;

std::uint64_t Seed() {
  // The flag: without it, GoogleTest's own seed is taken from the clock.
  const int seed = GTEST_FLAG_GET(random_seed);
  return seed == 0 ? 1 : static_cast<std::uint64_t>(seed);
}

SimulatedBackend::SimulatedBackend(std::string name, const Open& open)
    : name_(std::move(name)),
      world_(Seed(), **sim::FindProfile("small")),
      initiator_(open(world_, world_.AddNode("initiator"))),
      target_(open(world_, world_.AddNode("target"))) {}

void SimulatedBackend::Idle() { world_.WaitUntil(world_.Now() + 10us); }
coro::Duration SimulatedBackend::Patience() const { return 10s; }
coro::Duration SimulatedBackend::Quiet() const { return 100ms; }

fabric::Address SimulatedBackend::NobodysAddress() {
  // A GID that no NIC has is refused: this one is of a machine that is off.
  sim::Node& nobody = world_.AddNode("nobody");
  nobody.Kill();
  return sim::EfaAddress{.gid = nobody.nic(0).gid(), .queue_pair = 3, .qkey = 4}.Encode();
}

std::string SimulatedBackend::Description() const {
  return absl::StrCat(name_, ", seed ", world_.seed());
}

}  // namespace drydock::contract
