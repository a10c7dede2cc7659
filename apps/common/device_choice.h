// Which device a program puts its memory on: --device=host|cuda:N|auto.

#ifndef DRYDOCK_APPS_COMMON_DEVICE_CHOICE_H_
#define DRYDOCK_APPS_COMMON_DEVICE_CHOICE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "drydock/gpu/device_memory.h"

namespace drydock::apps {

struct DeviceChoice {
  std::unique_ptr<gpu::Device> device;
  std::string reason;  // why, where the program chose by itself; one line
};

// host: the stand-in GPU; cuda:N: the GPU with that number; auto: the first GPU, or the stand-in
// where there is none. kInvalidArgument: it is called nothing like that, or has no such number;
// kNotFound: no GPU can be used, for the reason that gpu::OpenCudaDevice gives.
absl::StatusOr<DeviceChoice> ChooseDevice(const std::string& name);

// The same for a peer of `device`, where auto is another GPU if there are two, and null if it is
// the same.
absl::StatusOr<DeviceChoice> ChoosePeerDevice(const std::string& name, const gpu::Device& device);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_DEVICE_CHOICE_H_
