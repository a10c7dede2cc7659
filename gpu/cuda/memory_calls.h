// The driver of OpenCudaDriver, of a table of functions: a test gives its own.

#ifndef GPU_CUDA_MEMORY_CALLS_H_
#define GPU_CUDA_MEMORY_CALLS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "gpu/cuda/driver.h"
#include "gpu/memory_driver.h"

namespace gpu::cuda {

// As OpenCudaDriver, by these functions, which outlive what is returned.
absl::StatusOr<std::unique_ptr<MemoryDriver>> OpenMemoryCalls(const Driver& driver, int ordinal);

}  // namespace gpu::cuda

#endif  // GPU_CUDA_MEMORY_CALLS_H_
