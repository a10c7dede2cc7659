// NVIDIA GPUs, through the driver that is on the machine when the program runs.

#ifndef DRYDOCK_GPU_CUDA_CUDA_DEVICE_H_
#define DRYDOCK_GPU_CUDA_CUDA_DEVICE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "drydock/gpu/device_memory.h"

namespace drydock::gpu {

// How many there are. kUnavailable: no driver, or no GPU that it knows. kUnimplemented: this
// program was built without the CUDA toolkit.
absl::StatusOr<int> CountCudaDevices();

// Opens GPU `ordinal` with its primary context, which each call makes current on its thread,
// whatever thread that is. The context lives as long as the device and what came from it.
// kInvalidArgument: there is no such number; errors of CountCudaDevices.
absl::StatusOr<std::unique_ptr<Device>> OpenCudaDevice(int ordinal);

}  // namespace drydock::gpu

#endif  // DRYDOCK_GPU_CUDA_CUDA_DEVICE_H_
