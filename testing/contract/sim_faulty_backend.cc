// The contract suite on the simulator under a fault plan: behaviours that the decorator must keep,
// and faults that every program has to survive. DRYDOCK_SIM_FABRIC: efa-direct or efa.
// DRYDOCK_FAULTS: none (a plan without rules) or annoying.

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/coro/check.h"
#include "drydock/fabric/faults/engine.h"
#include "drydock/fabric/faults/faulty_fabric.h"
#include "drydock/fabric/faults/plan_json.h"
#include "drydock/sim/driver/sim_fabric.h"
#include "drydock/sim/rdm/sim_rdm_fabric.h"
#include "drydock/testing/contract/applicability.h"
#include "drydock/testing/contract/simulated_backend.h"

namespace drydock::contract {
namespace {

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

std::shared_ptr<FaultEngine> MakeEngine() {
  const bool annoying = Setting("DRYDOCK_FAULTS") == "annoying";
  auto plan = fabric::faults::ParseFaultPlan(annoying ? kAnnoying : R"({"rules": []})");
  return FaultEngine::Create(
             *std::move(plan), Seed(),
             {.device = {},
              .decorator = fabric::faults::FaultsOf(fabric::faults::Layer::kDecorator)})
      .value();
}

std::unique_ptr<fabric::Fabric> OpenBelow(sim::World& world, sim::Node& node) {
  return Setting("DRYDOCK_SIM_FABRIC") == "efa" ? sim::rdm::OpenSimRdmFabric(world, node)
                                                : sim::OpenSimFabric(world, node);
}

std::unique_ptr<fabric::Fabric> OpenFaulty(const std::shared_ptr<FaultEngine>& engine,
                                           sim::World& world, sim::Node& node) {
  return fabric::faults::OpenFaultyFabric(
             OpenBelow(world, node),
             {.engine = engine,
              .clock = &world,
              .wake_at = [&world](coro::Time time) { world.timeline().WakeAt(time); }})
      .value();
}

class SimFaultyBackend final : public SimulatedBackend {
 public:
  SimFaultyBackend()
      : SimulatedBackend(absl::StrCat("sim ", Setting("DRYDOCK_SIM_FABRIC"), ", faults ",
                                      Setting("DRYDOCK_FAULTS")),
                         [engine = MakeEngine()](sim::World& world, sim::Node& node) {
                           return OpenFaulty(engine, world, node);
                         }),
        below_(OpenBelow(world(), world().AddNode("witness"))) {}

  // The capabilities of the fabric below, which its own backend compares with a list.
  fabric::CapabilitySet ExpectedCapabilities() const override {
    return below_->nics().front().capabilities;
  }
  Traits ExpectedTraits() const override {
    return Setting("DRYDOCK_SIM_FABRIC") == "efa" ? kSimProtocolTraits : kSimDeviceTraits;
  }
  std::vector<std::string> NotApplicable() const override {
    return contract::NotApplicable({ExpectedCapabilities(), ExpectedTraits()});
  }

 private:
  const std::unique_ptr<fabric::Fabric> below_;
};

}  // namespace

std::unique_ptr<Backend> MakeBackend() { return std::make_unique<SimFaultyBackend>(); }

}  // namespace drydock::contract
