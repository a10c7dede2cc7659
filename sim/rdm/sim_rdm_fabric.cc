#include "drydock/sim/rdm/sim_rdm_fabric.h"

#include "drydock/sim/driver/sim_fabric.h"
#include "drydock/sim/rdm/rdm_fabric.h"

namespace drydock::sim::rdm {
namespace {

class WorldAlarm final : public Alarm {
 public:
  explicit WorldAlarm(World& world) : world_(world) {}

  coro::Time Now() const override { return world_.Now(); }
  void WakeAt(coro::Time time) override { world_.timeline().WakeAt(time); }

 private:
  World& world_;
};

}  // namespace

std::shared_ptr<Alarm> AlarmOf(World& world) { return std::make_shared<WorldAlarm>(world); }

std::unique_ptr<fabric::Fabric> OpenSimRdmFabric(World& world, Node& node,
                                                 const Settings& settings) {
  return OpenRdmFabric(OpenSimDevice(world, node), AlarmOf(world), settings);
}

}  // namespace drydock::sim::rdm
