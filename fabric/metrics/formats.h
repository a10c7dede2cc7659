// Counters as text that other programs read. Pure functions.

#ifndef DRYDOCK_FABRIC_METRICS_FORMATS_H_
#define DRYDOCK_FABRIC_METRICS_FORMATS_H_

#include <span>
#include <string>

#include "drydock/fabric/metrics/counters.h"

namespace drydock::fabric::metrics {

// Prometheus' text exposition format 0.0.4: for each counter HELP, TYPE, and a sample for each NIC
// that knows it:
//
//   efa_tx_bytes_total{node="server",nic="rdmap0s31",source="simulated"} 4096
//
// Before them the gauge efa_nic_up: 0 for a NIC that has gone, 1 for the others. Characters of an
// unknown counter's name that Prometheus does not take become "_". Of several NICs with the same
// labels the values are added up: a sample may stand once only.
std::string ToPrometheus(std::span<const NicMetrics> nics);

// {"nics": [{"node", "nic", "source", "up": true, "counters": {"tx_bytes": 4096, ...}}]}
std::string ToJson(std::span<const NicMetrics> nics);

}  // namespace drydock::fabric::metrics

#endif  // DRYDOCK_FABRIC_METRICS_FORMATS_H_
