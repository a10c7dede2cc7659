// In place of the CUDA devices where the toolkit was missing when the program was built.

#include "absl/status/status.h"
#include "drydock/gpu/cuda/cuda_device.h"
#include "drydock/gpu/cuda/cuda_driver.h"

namespace drydock::gpu {
namespace {

absl::Status NotBuilt() {
  return absl::UnimplementedError(
      "this program was built without the CUDA toolkit: install it, or name it by DRYDOCK_CUDA, "
      "and "
      "build again");
}

}  // namespace

absl::StatusOr<int> CountCudaDevices() { return NotBuilt(); }
absl::StatusOr<std::unique_ptr<Device>> OpenCudaDevice(int) { return NotBuilt(); }
absl::StatusOr<std::unique_ptr<MemoryDriver>> OpenCudaDriver(int) { return NotBuilt(); }

}  // namespace drydock::gpu
