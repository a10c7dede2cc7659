// The kernels of kernels.h for CUDA. Compiled to PTX, which the driver compiles again for the GPU
// that is there.

#include <cstdint>

#include "gpu/gda/kernels.h"

namespace {

using namespace gpu::gda;  // NOLINT(build/namespaces)

// The threads of a block.
class CudaTeam {
 public:
  __device__ explicit CudaTeam(std::uint32_t* shared) : shared_(shared) {
    if (threadIdx.x == 0) shared_[1] = 0;
    __syncthreads();
  }

  __device__ std::uint32_t rank() const { return threadIdx.x; }
  __device__ std::uint32_t size() const { return blockDim.x; }
  __device__ std::uint32_t block() const { return blockIdx.x; }
  __device__ std::uint32_t blocks() const { return gridDim.x; }
  __device__ void Sync() { __syncthreads(); }
  __device__ std::uint32_t Broadcast(std::uint32_t value) {
    if (threadIdx.x == 0) shared_[0] = value;
    __syncthreads();
    const std::uint32_t all = shared_[0];
    __syncthreads();  // before the next one
    return all;
  }
  __device__ std::uint32_t Count(bool value) {
    return static_cast<std::uint32_t>(__syncthreads_count(value));
  }
  __device__ std::uint32_t Sum(std::uint32_t value) {
    atomicAdd(&shared_[1], value);
    __syncthreads();
    return shared_[1];
  }

 private:
  std::uint32_t* shared_;
};

}  // namespace

#define GDA_KERNEL(name, Arguments, Body)                      \
  extern "C" __global__ void name(const Arguments arguments) { \
    __shared__ std::uint32_t shared[2];                        \
    CudaTeam team(shared);                                     \
    Body(arguments, team);                                     \
  }

GDA_KERNEL(GdaPut, PutArguments, PutBody)
GDA_KERNEL(GdaWriteLoop, LoopArguments, WriteLoopBody)
GDA_KERNEL(GdaTeamWrites, LoopArguments, TeamWritesBody)
GDA_KERNEL(GdaBlockWrites, BlockArguments, BlockWritesBody)
GDA_KERNEL(GdaFillBytes, BytesArguments, FillBytesBody)
GDA_KERNEL(GdaCountWrong, BytesArguments, CountWrongBody)
GDA_KERNEL(GdaBareLoop, LoopArguments, BareLoopBody)
