// The counters that an RDMA device's driver shows in sysfs.

#ifndef DRYDOCK_FABRIC_METRICS_HW_COUNTERS_H_
#define DRYDOCK_FABRIC_METRICS_HW_COUNTERS_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "drydock/fabric/metrics/counters.h"

namespace drydock::fabric::metrics {

inline constexpr std::string_view kSysfsDevices = "/sys/class/infiniband";

// Reads `<devices>/<nic>/ports/1/hw_counters` and `<devices>/<nic>/hw_counters`, where newer
// kernels have the device's own. kNotFound: there is no such device, or it shows no counters.
// kPermissionDenied, kUnavailable: it is there, and none of them can be read. Files that hold no
// whole number are left out, and so is `lifespan`, which is a setting. `node` is left empty.
absl::StatusOr<NicMetrics> ReadHardwareCounters(std::string_view nic,
                                                std::string_view devices = kSysfsDevices);

}  // namespace drydock::fabric::metrics

#endif  // DRYDOCK_FABRIC_METRICS_HW_COUNTERS_H_
