// An NVIDIA GPU's driver, call by call: for who looks at what it answers.

#ifndef GPU_CUDA_CUDA_DRIVER_H_
#define GPU_CUDA_CUDA_DRIVER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "gpu/memory_driver.h"

namespace gpu {

// Of the GPU with this number, with its primary context retained and current on no thread yet, and
// a second context. Errors of OpenCudaDevice.
absl::StatusOr<std::unique_ptr<MemoryDriver>> OpenCudaDriver(int ordinal);

}  // namespace gpu

#endif  // GPU_CUDA_CUDA_DRIVER_H_
