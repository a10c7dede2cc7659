// An NVIDIA GPU's driver, call by call: for programs that look at each answer.

#ifndef DRYDOCK_GPU_CUDA_CUDA_DRIVER_H_
#define DRYDOCK_GPU_CUDA_CUDA_DRIVER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "drydock/gpu/memory_driver.h"

namespace drydock::gpu {

// Opens the driver of GPU `ordinal`: retains its primary context, current on no thread, and creates
// a second context. Errors: those of OpenCudaDevice.
absl::StatusOr<std::unique_ptr<MemoryDriver>> OpenCudaDriver(int ordinal);

}  // namespace drydock::gpu

#endif  // DRYDOCK_GPU_CUDA_CUDA_DRIVER_H_
