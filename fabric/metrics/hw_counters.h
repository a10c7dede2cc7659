// The counters that an RDMA device's driver shows in sysfs.

#ifndef FABRIC_METRICS_HW_COUNTERS_H_
#define FABRIC_METRICS_HW_COUNTERS_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "fabric/metrics/counters.h"

namespace fabric::metrics {

inline constexpr std::string_view kSysfsDevices = "/sys/class/infiniband";

// Reads `<devices>/<nic>/ports/1/hw_counters` and `<devices>/<nic>/hw_counters`, where newer
// kernels have the device's own. kNotFound: there is no such device, or it shows no counters.
// kPermissionDenied, kUnavailable: it is there, and none of them can be read. Files that hold no
// whole number are left out, and so is `lifespan`, which is a setting. `node` is left empty.
absl::StatusOr<NicMetrics> ReadHardwareCounters(std::string_view nic,
                                                std::string_view devices = kSysfsDevices);

}  // namespace fabric::metrics

#endif  // FABRIC_METRICS_HW_COUNTERS_H_
