// The counters of NICs: the list of EFA's hardware counters, under the names that its driver gives
// them in sysfs, and the values of one NIC. docs/metrics.md is the table for people.

#ifndef DRYDOCK_FABRIC_METRICS_COUNTERS_H_
#define DRYDOCK_FABRIC_METRICS_COUNTERS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace drydock::fabric::metrics {

// The part of a real system that keeps a counter.
enum class Scope : std::uint8_t {
  kPort,       // the device, of its port
  kAdmin,      // the driver, of its commands to the device
  kSimulator,  // no real NIC: the simulated one counts more
};

struct CounterInfo {
  std::string_view name;  // as the file in sysfs: tx_bytes
  std::string_view unit;  // bytes, packets, requests, events, commands
  Scope scope = Scope::kPort;
  std::string_view help;  // one sentence
};

// All that are known here, in the order in which they are shown. Static storage.
std::span<const CounterInfo> CounterTable();
// Null for a name that is not in the table: drivers learn to count more.
const CounterInfo* FindCounter(std::string_view name);

struct CounterValue {
  std::string name;
  std::uint64_t value = 0;

  friend bool operator==(const CounterValue&, const CounterValue&) = default;
};

// Where values come from.
inline constexpr std::string_view kSimulated = "simulated";  // a simulated NIC counts
inline constexpr std::string_view kDevice = "device";        // the NIC and its driver count: sysfs
inline constexpr std::string_view kProgram = "program";      // counted at the contract, see below

// The counters of one NIC. A counter that is missing is unknown, which is not the same as 0.
struct NicMetrics {
  std::string node;  // the machine
  std::string nic;
  std::string source;
  std::vector<CounterValue> counters;  // in the table's order, then what it lacks
  bool gone = false;  // it is not there any more: values are the last known ones, if any are
};

// Nothing where the counter is not known.
const CounterValue* Find(const NicMetrics& metrics, std::string_view name);

// The counts between two readings of a NIC. A counter that has gone back, as after a restart of the
// driver, began anew from 0; so did one that was not there before.
NicMetrics Since(const NicMetrics& before, const NicMetrics& after);

// Sorts into the table's order, then by name.
void Order(std::vector<CounterValue>& counters);

}  // namespace drydock::fabric::metrics

#endif  // DRYDOCK_FABRIC_METRICS_COUNTERS_H_
