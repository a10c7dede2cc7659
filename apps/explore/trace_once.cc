#include "drydock/apps/explore/trace_once.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/flags/declare.h"
#include "absl/flags/flag.h"
#include "drydock/apps/common/simulated_fabric.h"
#include "drydock/apps/common/trace_flags.h"
#include "drydock/coro/status_macros.h"
#include "drydock/sim/tracing/world_trace.h"
#include "drydock/sim/world/world.h"

ABSL_DECLARE_FLAG(std::string, trace);  // of apps/common/trace_flags.cc

namespace drydock::apps {
namespace {

class Observer final : public sim::explore::RunObserver {
 public:
  explicit Observer(const TraceRun& trace) : trace_(trace) {}

  void Begin(sim::World& world, fabric::faults::FaultEngine& engine) override {
    devices_ = trace_.Watch(world, &engine);
  }
  std::unique_ptr<fabric::Fabric> Wrap(sim::World& world,
                                       std::unique_ptr<fabric::Fabric> fabric) override {
    const auto last = static_cast<std::uint32_t>(world.nics().size() - 1);
    const std::string& nic = world.nics()[last].name;  // "machine/nic"
    return trace_.Wrap(std::move(fabric), nic.substr(0, nic.find('/')), world,
                       SimulatedFabric::kEfaDirect);
  }
  void End(sim::World&, fabric::faults::FaultEngine&) override { devices_.reset(); }

 private:
  const TraceRun& trace_;
  std::unique_ptr<sim::WorldTrace> devices_;
};

}  // namespace

bool TraceIsAsked() { return !absl::GetFlag(FLAGS_trace).empty(); }

absl::Status TraceOnce(const sim::explore::Scenario& scenario, const sim::explore::RunSpec& spec) {
  ASSIGN_OR_RETURN(const auto trace, TraceRun::FromFlags("explore", /*simulated=*/true, spec.seed));
  // A program that never returns has a picture, too.
  sim::explore::EndProcess end = sim::explore::SetEndProcess({});
  sim::explore::SetEndProcess([&](const sim::explore::SeedResult& result) {
    trace->Finish().IgnoreError();
    if (end) end(result);
  });
  Observer observer(*trace);
  RunOnce(scenario, spec, &observer);
  sim::explore::SetEndProcess(std::move(end));
  return trace->Finish();
}

}  // namespace drydock::apps
