#include "drydock/apps/common/device_pair.h"

#include <string>
#include <utility>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "drydock/apps/common/simulated_fabric.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/fabric.h"
#include "drydock/sim/profile/profile.h"

ABSL_FLAG(std::string, device, "auto",
          "Device whose threads post: host (a stand-in for a GPU), cuda:N, or auto, which is the "
          "first GPU or else host.");
ABSL_FLAG(std::string, peer_device, "auto",
          "Device whose memory is written; auto is a second GPU, if there is one, else the same.");
ABSL_FLAG(std::string, ring, "mapped",
          "How the NIC's doorbell is rung: mapped (the device itself), record (the device writes "
          "the counter to memory, a thread of the host rings) or proxy (a thread of the host does "
          "it all).");
ABSL_FLAG(std::string, profile, "p5", "The simulated machines: p5, p5en, ...");
ABSL_FLAG(std::uint64_t, seed, 1, "Seed of the simulated NICs, and of random data.");

namespace drydock::apps {

using gpu::gda::RingMode;

absl::StatusOr<RingMode> RingModeFromFlags() {
  const std::string ring = absl::GetFlag(FLAGS_ring);
  for (const RingMode mode : {RingMode::kMappedBell, RingMode::kBellRecord, RingMode::kProxy}) {
    if (ring == RingModeName(mode)) return mode;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--ring=", ring, " does not exist: mapped, record, proxy"));
}

absl::StatusOr<std::unique_ptr<DevicePair>> DevicePair::FromFlags(absl::string_view program) {
  ASSIGN_OR_RETURN(DeviceChoice own, ChooseDevice(absl::GetFlag(FLAGS_device)));
  ASSIGN_OR_RETURN(DeviceChoice other,
                   ChoosePeerDevice(absl::GetFlag(FLAGS_peer_device), *own.device));
  ASSIGN_OR_RETURN(const sim::Profile* const profile,
                   sim::FindProfile(absl::GetFlag(FLAGS_profile)));
  const std::uint64_t seed = absl::GetFlag(FLAGS_seed);
  // In real time: without --trace nothing observes.
  ASSIGN_OR_RETURN(auto trace, TraceRun::FromFlags(program, /*simulated=*/false, seed));
  std::unique_ptr<DevicePair> run(
      new DevicePair(std::move(own), std::move(other), seed, std::move(trace)));
  run->pair_.emplace(*profile, seed, run->device(), run->peer());
  run->Observe();
  return run;
}

DevicePair::DevicePair(DeviceChoice own, DeviceChoice other, std::uint64_t seed,
                       std::unique_ptr<TraceRun> trace)
    : own_(std::move(own)), other_(std::move(other)), seed_(seed), trace_(std::move(trace)) {}

void DevicePair::Observe() {
  if (trace_->recorder() == nullptr) return;
  pair_->Observe(
      [this](std::unique_ptr<fabric::Fabric> fabric, const std::string& machine) {
        return trace_->Wrap(std::move(fabric), machine, pair_->world(),
                            SimulatedFabric::kEfaDirect);
      },
      trace_->Watch(pair_->world(), /*engine=*/nullptr));
}

absl::Status DevicePair::Close(MetricsRun* metrics) {
  if (metrics != nullptr) {
    pair_->Pause();
    metrics->Take(pair_->world());
  }
  pair_.reset();
  return trace_->Finish();
}

}  // namespace drydock::apps
