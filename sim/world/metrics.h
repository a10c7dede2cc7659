// The counters of a simulated world's NICs, as values to show.

#ifndef DRYDOCK_SIM_WORLD_METRICS_H_
#define DRYDOCK_SIM_WORLD_METRICS_H_

#include <vector>

#include "drydock/fabric/metrics/counters.h"
#include "drydock/sim/device/device_counters.h"
#include "drydock/sim/world/world.h"

namespace drydock::sim {

// Every counter under its name, in the order of fabric::metrics::CounterTable().
std::vector<fabric::metrics::CounterValue> NamedCounters(const DeviceCounters& counters);

// Of every NIC of the world's machines, in their order. NICs of other processes are left out.
std::vector<fabric::metrics::NicMetrics> MetricsOf(const World& world);

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_WORLD_METRICS_H_
