// The driver of OpenCudaDriver, of a table of functions: a test gives its own.

#ifndef DRYDOCK_GPU_CUDA_MEMORY_CALLS_H_
#define DRYDOCK_GPU_CUDA_MEMORY_CALLS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "drydock/gpu/cuda/driver.h"
#include "drydock/gpu/memory_driver.h"

namespace drydock::gpu::cuda {

// As OpenCudaDriver, by these functions, which outlive what is returned.
absl::StatusOr<std::unique_ptr<MemoryDriver>> OpenMemoryCalls(const Driver& driver, int ordinal);

}  // namespace drydock::gpu::cuda

#endif  // DRYDOCK_GPU_CUDA_MEMORY_CALLS_H_
