// What the NICs of a simulated world have counted, as values for whoever shows them.

#ifndef SIM_WORLD_METRICS_H_
#define SIM_WORLD_METRICS_H_

#include <vector>

#include "fabric/metrics/counters.h"
#include "sim/device/device_counters.h"
#include "sim/world/world.h"

namespace sim {

// Every counter under its name, in the order of fabric::metrics::CounterTable().
std::vector<fabric::metrics::CounterValue> NamedCounters(const DeviceCounters& counters);

// Of every NIC of the world's machines, in their order. NICs of other processes are left out.
std::vector<fabric::metrics::NicMetrics> MetricsOf(const World& world);

}  // namespace sim

#endif  // SIM_WORLD_METRICS_H_
