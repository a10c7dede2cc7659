// An NVIDIA GPU's driver, call by call: for programs that look at each answer.

#ifndef DRYDOCK_GPU_CUDA_CUDA_DRIVER_H_
#define DRYDOCK_GPU_CUDA_CUDA_DRIVER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "drydock/gpu/memory_driver.h"

namespace drydock::gpu {

// Of the GPU with this number, with its primary context retained and current on no thread yet, and
// a second context. Errors of OpenCudaDevice.
absl::StatusOr<std::unique_ptr<MemoryDriver>> OpenCudaDriver(int ordinal);

}  // namespace drydock::gpu

#endif  // DRYDOCK_GPU_CUDA_CUDA_DRIVER_H_
