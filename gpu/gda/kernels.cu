// The kernels of kernels.h for CUDA. Compiled to PTX, which the driver compiles again for the GPU
// that is there.

#include <cstdint>

#include "drydock/gpu/gda/device/kernels.h"
#include "drydock/gpu/gda/kernels.h"

namespace {

using namespace drydock::gpu::gda;  // NOLINT(build/namespaces)

// The threads of a warp, all of them: REQUIRES blocks of whole warps, or of one thread.
class CudaWarp {
 public:
  __device__ std::uint32_t rank() const { return threadIdx.x % 32; }
  __device__ std::uint32_t size() const { return blockDim.x < 32 ? blockDim.x : 32; }
  __device__ void Sync() { __syncwarp(Mask()); }
  __device__ std::uint32_t Broadcast(std::uint32_t value) {
    __syncwarp(Mask());
    return __shfl_sync(Mask(), value, 0);
  }
  __device__ bool All(bool value) { return __all_sync(Mask(), value) != 0; }

 private:
  __device__ unsigned Mask() const { return blockDim.x < 32 ? (1u << blockDim.x) - 1 : ~0u; }
};

// The threads of a block.
class CudaTeam {
 public:
  using WarpScope = CudaWarp;

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
  __device__ std::uint32_t warps() const { return (blockDim.x + 31) / 32; }
  __device__ std::uint32_t warp_number() const { return threadIdx.x / 32; }
  __device__ WarpScope Warp() const { return CudaWarp(); }
  __device__ std::uint32_t Count(bool value) {
    return static_cast<std::uint32_t>(__syncthreads_count(value));
  }
  __device__ bool All(bool value) { return __syncthreads_and(value) != 0; }
  __device__ std::uint32_t Sum(std::uint32_t value) {
    atomicAdd(&shared_[1], value);
    __syncthreads();
    return shared_[1];
  }

 private:
  std::uint32_t* shared_;
};

}  // namespace

// The arguments stay where they are: tables of a port are indexed by what is known at run time.
#define GDA_KERNEL(name, Arguments, Body)                                        \
  extern "C" __global__ void name(const __grid_constant__ Arguments arguments) { \
    __shared__ std::uint32_t shared[2];                                          \
    CudaTeam team(shared);                                                       \
    Body(arguments, team);                                                       \
  }

GDA_KERNEL(GdaPut, PutArguments, PutBody)
GDA_KERNEL(GdaWriteLoop, LoopArguments, WriteLoopBody)
GDA_KERNEL(GdaTeamWrites, LoopArguments, TeamWritesBody)
GDA_KERNEL(GdaBlockWrites, BlockArguments, BlockWritesBody)
GDA_KERNEL(GdaFillBytes, BytesArguments, FillBytesBody)
GDA_KERNEL(GdaCountWrong, BytesArguments, CountWrongBody)
GDA_KERNEL(GdaBareLoop, LoopArguments, BareLoopBody)
GDA_KERNEL(GdaPortPuts, PortPutsArguments, PortPutsBody)
GDA_KERNEL(GdaPingPong, PingPongArguments, PingPongBody)
GDA_KERNEL(GdaMoeDispatch, MoeArguments, MoeDispatchBody)
GDA_KERNEL(GdaMoeCombine, MoeArguments, MoeCombineBody)
GDA_KERNEL(GdaMoeDispatchCopies, MoeCopiesArguments, MoeDispatchBody)
GDA_KERNEL(GdaMoeCombineCopies, MoeCopiesArguments, MoeCombineBody)
