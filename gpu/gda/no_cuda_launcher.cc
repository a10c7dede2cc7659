// Instead of cuda_launcher.cc, where the build found no CUDA toolkit.

#include "absl/status/status.h"
#include "drydock/gpu/gda/cuda_launcher.h"

namespace drydock::gpu::gda {

absl::StatusOr<std::unique_ptr<Launcher>> OpenCudaLauncher(int) {
  return absl::UnimplementedError(
      "launch kernels: this program was built without the CUDA toolkit");
}

}  // namespace drydock::gpu::gda
