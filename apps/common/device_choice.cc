#include "apps/common/device_choice.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "gpu/cuda/cuda_device.h"
#include "gpu/host_device/host_device.h"

namespace apps {
namespace {

DeviceChoice StandIn(std::string reason) { return {gpu::OpenHostDevice(), std::move(reason)}; }

absl::StatusOr<DeviceChoice> Cuda(int ordinal, std::string reason) {
  absl::StatusOr<std::unique_ptr<gpu::Device>> device = gpu::OpenCudaDevice(ordinal);
  if (device.ok()) return DeviceChoice{*std::move(device), std::move(reason)};
  if (device.status().code() != absl::StatusCode::kUnavailable) return device.status();
  // Nothing that waiting mends.
  return absl::NotFoundError(
      absl::StrCat(device.status().message(), "; --device=host stands in for a GPU"));
}

}  // namespace

absl::StatusOr<DeviceChoice> ChooseDevice(const std::string& name) {
  if (name == "host") return StandIn("");
  if (name == "auto") {
    const absl::StatusOr<int> count = gpu::CountCudaDevices();
    if (count.ok() && *count > 0) return Cuda(0, "auto: a GPU is here");
    const bool built_without = count.status().code() == absl::StatusCode::kUnimplemented;
    return StandIn(built_without ? "auto: built without the CUDA toolkit" : "auto: no GPU here");
  }
  absl::string_view number = name;
  int ordinal = 0;
  if (absl::ConsumePrefix(&number, "cuda:") && absl::SimpleAtoi(number, &ordinal)) {
    return Cuda(ordinal, "");
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--device=", name, " does not exist: host, cuda:0, cuda:1, ... or auto"));
}

absl::StatusOr<DeviceChoice> ChoosePeerDevice(const std::string& name, const gpu::Device& device) {
  if (name != "auto") {
    if (name == device.name()) return DeviceChoice();
    return ChooseDevice(name);
  }
  const absl::StatusOr<int> count = gpu::CountCudaDevices();
  if (device.kind() != fabric::MemoryKind::kCuda || !count.ok() || *count < 2) {
    return DeviceChoice();
  }
  return Cuda(device.ordinal() == 0 ? 1 : 0, "auto: there are two GPUs");
}

}  // namespace apps
