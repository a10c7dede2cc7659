// Kernels for NVIDIA GPUs: compiled to PTX by the build, loaded by the driver that is there.

#ifndef DRYDOCK_GPU_GDA_CUDA_LAUNCHER_H_
#define DRYDOCK_GPU_GDA_CUDA_LAUNCHER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "drydock/gpu/gda/launcher.h"

namespace drydock::gpu::gda {

// For the GPU with that number. Errors: those of gpu::OpenCudaDevice; kUnimplemented: built without
// the CUDA toolkit.
absl::StatusOr<std::unique_ptr<Launcher>> OpenCudaLauncher(int ordinal);

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_CUDA_LAUNCHER_H_
