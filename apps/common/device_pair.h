// Two devices, and the simulated NICs that the first of them drives, as the flags want them:
// --device, --peer-device, --ring, --profile, --seed, and --trace around it all.

#ifndef DRYDOCK_APPS_COMMON_DEVICE_PAIR_H_
#define DRYDOCK_APPS_COMMON_DEVICE_PAIR_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drydock/apps/common/device_choice.h"
#include "drydock/apps/common/metrics_run.h"
#include "drydock/apps/common/trace_flags.h"
#include "drydock/gpu/gda/queue/channel.h"
#include "drydock/gpu/gda/sim_pair.h"

namespace drydock::apps {

// --ring. kInvalidArgument: there is no such way.
absl::StatusOr<gpu::gda::RingMode> RingModeFromFlags();

// One run. Threads: one at a time.
class DevicePair {
 public:
  // Of the pair, nothing is opened yet. Errors: kInvalidArgument and kNotFound, those of the flags.
  static absl::StatusOr<std::unique_ptr<DevicePair>> FromFlags(absl::string_view program);

  // REQUIRES: Close was not called.
  gpu::gda::SimPair& pair() { return *pair_; }
  gpu::Device& device() { return *own_.device; }
  // The same device where there is only one.
  gpu::Device& peer() { return other_.device == nullptr ? *own_.device : *other_.device; }
  // Whether threads of the host stand in for a GPU's.
  bool stand_in() const { return own_.device->kind() == fabric::MemoryKind::kStandIn; }
  std::uint64_t seed() const { return seed_; }

  // Takes the NICs' counters (`metrics` may be null), closes the pair and writes the trace.
  absl::Status Close(MetricsRun* metrics);

 private:
  DevicePair(DeviceChoice own, DeviceChoice other, std::uint64_t seed,
             std::unique_ptr<TraceRun> trace);

  // Puts the trace around the fabrics and the devices of the pair.
  void Observe();

  const DeviceChoice own_;
  const DeviceChoice other_;
  const std::uint64_t seed_;
  const std::unique_ptr<TraceRun> trace_;
  std::optional<gpu::gda::SimPair> pair_;
};

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_DEVICE_PAIR_H_
