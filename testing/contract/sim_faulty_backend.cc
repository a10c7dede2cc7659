// The contract suite on the simulator under a fault plan: what the decorator must not change, and
// what every program has to live with. DRYDOCK_SIM_FABRIC: efa-direct or efa. DRYDOCK_FAULTS: none
// (a plan without rules) or annoying. The seed is what --gtest_random_seed says, or 1.

#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coro/check.h"
#include "fabric/faults/engine.h"
#include "fabric/faults/faulty_fabric.h"
#include "fabric/faults/plan_json.h"
#include "gtest/gtest.h"
#include "sim/driver/sim_fabric.h"
#include "sim/efa_address.h"
#include "sim/profile/profile.h"
#include "sim/rdm/sim_rdm_fabric.h"
#include "sim/world/world.h"
#include "testing/contract/applicability.h"
#include "testing/contract/backend.h"

namespace contract {
namespace {

using namespace std::chrono_literals;
using fabric::faults::FaultEngine;

// Posts are refused now and then and accepted in the end, queues are read in small pieces or look
// empty, completions come late and in another order: nothing that a correct program would notice.
constexpr char kAnnoying[] = R"({
  "mode": "adversarial",
  "rules": [
    {"fault": "again_then_accepted", "parameters": {"attempts": 2},
     "when": {"operation": ["send", "write", "read"], "size": {"max": 500000}, "every": 5}},
    {"fault": "short_read", "parameters": {"entries": 2}, "when": {"probability": 0.7}},
    {"fault": "empty_read", "when": {"probability": 0.1}},
    {"fault": "delayed_completion", "parameters": {"delay_ns": 20000, "jitter_ns": 20000},
     "when": {"operation": ["send", "write", "read", "remote_write"], "probability": 0.2}},
    {"fault": "held_completion", "parameters": {"behind": 2, "delay_ns": 50000},
     "when": {"operation": ["send", "write", "read", "remote_write"], "every": 7}}
  ]
})";

std::string Setting(const char* name) {
  const char* value = std::getenv(name);
  DD_CHECK(value != nullptr, "this test's target sets its environment");
  return value;
}

class SimFaultyBackend final : public Backend {
 public:
  explicit SimFaultyBackend(std::uint64_t seed)
      : engine_(MakeEngine(seed)),
        world_(seed, **sim::FindProfile("small")),
        below_(OpenBelow("witness")),
        initiator_(Wrap(OpenBelow("initiator"))),
        target_(Wrap(OpenBelow("target"))) {}

  fabric::Fabric& initiator() override { return *initiator_; }
  fabric::Fabric& target() override { return *target_; }
  coro::Time Now() override { return world_.Now(); }
  void Idle() override { world_.WaitUntil(world_.Now() + 10us); }
  coro::Duration Patience() const override { return 10s; }
  coro::Duration Quiet() const override { return 100ms; }
  fabric::Address NobodysAddress() override {
    return sim::EfaAddress{.gid = {0xfe, 0x80, 9}, .queue_pair = 3, .qkey = 4}.Encode();
  }
  std::string Description() const override {
    return absl::StrCat("sim ", Setting("DRYDOCK_SIM_FABRIC"), ", faults ",
                        Setting("DRYDOCK_FAULTS"), ", seed ", world_.seed());
  }
  // What the fabric below says of itself, which its own backend holds to a list.
  fabric::CapabilitySet ExpectedCapabilities() const override {
    return below_->nics().front().capabilities;
  }
  std::vector<std::string> NotApplicable() const override {
    return contract::NotApplicable(ExpectedCapabilities());
  }

 private:
  static std::shared_ptr<FaultEngine> MakeEngine(std::uint64_t seed) {
    const bool annoying = Setting("DRYDOCK_FAULTS") == "annoying";
    auto plan = fabric::faults::ParseFaultPlan(annoying ? kAnnoying : R"({"rules": []})");
    return FaultEngine::Create(
               *std::move(plan), seed,
               {.device = {},
                .decorator = fabric::faults::FaultsOf(fabric::faults::Layer::kDecorator)})
        .value();
  }
  std::unique_ptr<fabric::Fabric> OpenBelow(const char* name) {
    sim::Node& node = world_.AddNode(name);
    return Setting("DRYDOCK_SIM_FABRIC") == "efa" ? sim::rdm::OpenSimRdmFabric(world_, node)
                                                  : sim::OpenSimFabric(world_, node);
  }
  std::unique_ptr<fabric::Fabric> Wrap(std::unique_ptr<fabric::Fabric> below) {
    return fabric::faults::OpenFaultyFabric(
               std::move(below),
               {.engine = engine_,
                .clock = &world_,
                .wake_at = [this](coro::Time time) { world_.timeline().WakeAt(time); }})
        .value();
  }

  const std::shared_ptr<FaultEngine> engine_;
  sim::World world_;
  std::unique_ptr<fabric::Fabric> below_;
  std::unique_ptr<fabric::Fabric> initiator_;
  std::unique_ptr<fabric::Fabric> target_;
};

}  // namespace

std::unique_ptr<Backend> MakeBackend() {
  // The flag: without it, GoogleTest's own seed is taken from the clock.
  const int seed = GTEST_FLAG_GET(random_seed);
  return std::make_unique<SimFaultyBackend>(seed == 0 ? 1 : static_cast<std::uint64_t>(seed));
}

}  // namespace contract
