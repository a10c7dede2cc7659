// How fast a simulated NIC writes from one device buffer to another, beside the device's own copy.

#ifndef DRYDOCK_APPS_DMABUF_BANDWIDTH_H_
#define DRYDOCK_APPS_DMABUF_BANDWIDTH_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "drydock/apps/common/metrics_run.h"
#include "drydock/apps/common/trace_flags.h"
#include "drydock/apps/dmabuf/device_data.h"
#include "drydock/coro/time.h"
#include "drydock/gpu/device_memory.h"
#include "drydock/sim/profile/profile.h"

namespace drydock::apps::dmabuf {

struct BandwidthOptions {
  const sim::Profile* profile = nullptr;
  std::size_t length_bytes = std::size_t{256} << 20;
  std::uint64_t repeats = 20;
  RegisterBy registration = RegisterBy::kAuto;
  gpu::Allocation allocation = gpu::Allocation::kPlain;
  MetricsRun* metrics = nullptr;    // null: the NICs' counters are not read
  const TraceRun* trace = nullptr;  // observes the runs, and outlives them; null: none
};

// Medians over the repeats, which took turns.
struct Bandwidth {
  coro::Duration copy{};   // the device's own: started, and waited for
  coro::Duration write{};  // posted, its completion read, and flushed
  bool correct = false;    // after the last write, on the device
};

// Runs both in real time, without delays. `target` may be `source`. Errors: those of the devices
// and of the simulator.
absl::StatusOr<Bandwidth> MeasureBandwidth(gpu::Device& source, gpu::Device& target,
                                           const BandwidthOptions& options);

}  // namespace drydock::apps::dmabuf

#endif  // DRYDOCK_APPS_DMABUF_BANDWIDTH_H_
