#include "drydock/apps/common/device_choice.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "drydock/gpu/cuda/cuda_device.h"
#include "drydock/gpu/host_device/host_device.h"

namespace drydock::apps {
namespace {

DeviceChoice StandIn(std::string reason) { return {gpu::OpenHostDevice(), std::move(reason)}; }

// `flag`, here and below: which one says so.
absl::StatusOr<DeviceChoice> Cuda(absl::string_view flag, int ordinal, std::string reason) {
  absl::StatusOr<std::unique_ptr<gpu::Device>> device = gpu::OpenCudaDevice(ordinal);
  if (device.ok()) return DeviceChoice{*std::move(device), std::move(reason)};
  if (device.status().code() == absl::StatusCode::kInvalidArgument) return device.status();
  return absl::NotFoundError(
      absl::StrCat(device.status().message(), "; --", flag, "=host stands in for a GPU"));
}

absl::StatusOr<DeviceChoice> Choose(absl::string_view flag, const std::string& name) {
  if (name == "host") return StandIn("");
  if (name == "auto") {
    const absl::StatusOr<int> count = gpu::CountCudaDevices();
    if (count.ok() && *count > 0) return Cuda(flag, 0, "auto: a GPU is here");
    if (count.status().code() == absl::StatusCode::kUnimplemented) {
      return StandIn("auto: built without the CUDA toolkit");
    }
    const bool none = count.ok() || count.status().code() == absl::StatusCode::kUnavailable;
    return StandIn(none ? "auto: no GPU here" : absl::StrCat("auto: ", count.status().message()));
  }
  absl::string_view number = name;
  int ordinal = 0;
  if (absl::ConsumePrefix(&number, "cuda:") && absl::SimpleAtoi(number, &ordinal)) {
    return Cuda(flag, ordinal, "");
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--", flag, "=", name, " does not exist: host, cuda:0, cuda:1, ... or auto"));
}

}  // namespace

absl::StatusOr<DeviceChoice> ChooseDevice(const std::string& name) {
  return Choose("device", name);
}

absl::StatusOr<DeviceChoice> ChoosePeerDevice(const std::string& name, const gpu::Device& device) {
  if (name != "auto") {
    absl::StatusOr<DeviceChoice> choice = Choose("peer-device", name);
    const bool same = choice.ok() && choice->device->kind() == device.kind() &&
                      choice->device->ordinal() == device.ordinal();
    if (same) return DeviceChoice();
    return choice;
  }
  const absl::StatusOr<int> count = gpu::CountCudaDevices();
  if (device.kind() != fabric::MemoryKind::kCuda || !count.ok() || *count < 2) {
    return DeviceChoice();
  }
  return Cuda("peer-device", device.ordinal() == 0 ? 1 : 0, "auto: there are two GPUs");
}

}  // namespace drydock::apps
