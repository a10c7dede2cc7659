// The CUDA driver, opened when the program runs and not when it is linked: the same binary starts
// on a laptop.

#ifndef DRYDOCK_GPU_CUDA_DRIVER_H_
#define DRYDOCK_GPU_CUDA_DRIVER_H_

#include <cuda.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace drydock::gpu::cuda {

// What we call of it. The macros of cuda.h give each name the version suffix that belongs to the
// header's signatures.
#define GPU_CUDA_FUNCTIONS(X)      \
  X(cuInit)                        \
  X(cuDriverGetVersion)            \
  X(cuGetErrorName)                \
  X(cuGetErrorString)              \
  X(cuDeviceGetCount)              \
  X(cuDeviceGet)                   \
  X(cuDeviceGetName)               \
  X(cuDeviceGetAttribute)          \
  X(cuDeviceGetPCIBusId)           \
  X(cuDeviceCanAccessPeer)         \
  X(cuDevicePrimaryCtxRetain)      \
  X(cuDevicePrimaryCtxRelease)     \
  X(cuCtxCreate)                   \
  X(cuCtxDestroy)                  \
  X(cuCtxSetCurrent)               \
  X(cuCtxPushCurrent)              \
  X(cuCtxPopCurrent)               \
  X(cuCtxEnablePeerAccess)         \
  X(cuCtxSynchronize)              \
  X(cuMemAlloc)                    \
  X(cuMemAllocManaged)             \
  X(cuMemFree)                     \
  X(cuMemHostAlloc)                \
  X(cuMemFreeHost)                 \
  X(cuMemHostRegister)             \
  X(cuMemHostUnregister)           \
  X(cuMemHostGetDevicePointer)     \
  X(cuMemGetAddressRange)          \
  X(cuPointerGetAttributes)        \
  X(cuMemGetHandleForAddressRange) \
  X(cuMemGetAllocationGranularity) \
  X(cuMemCreate)                   \
  X(cuMemRelease)                  \
  X(cuMemAddressReserve)           \
  X(cuMemAddressFree)              \
  X(cuMemMap)                      \
  X(cuMemUnmap)                    \
  X(cuMemSetAccess)                \
  X(cuMemcpyDtoH)                  \
  X(cuMemcpyHtoD)                  \
  X(cuMemcpyAsync)                 \
  X(cuMemcpyDtoHAsync)             \
  X(cuMemcpyHtoDAsync)             \
  X(cuMemsetD32Async)              \
  X(cuStreamCreate)                \
  X(cuStreamDestroy)               \
  X(cuStreamQuery)                 \
  X(cuStreamSynchronize)           \
  X(cuModuleLoadData)              \
  X(cuModuleUnload)                \
  X(cuModuleGetFunction)           \
  X(cuLaunchKernel)                \
  X(cuFlushGPUDirectRDMAWrites)

// The functions, by their names: driver.cuInit(0).
// Thread-safe, as the driver is.
struct Driver {
#define GPU_CUDA_MEMBER(name) decltype(&::name) name = nullptr;
  GPU_CUDA_FUNCTIONS(GPU_CUDA_MEMBER)
#undef GPU_CUDA_MEMBER

  // OK for CUDA_SUCCESS; else "what: CUDA_ERROR_...: the driver's words". kResourceExhausted: out
  // of memory; kInvalidArgument: an invalid value; kUnimplemented: not supported; else kInternal.
  absl::Status ToStatus(CUresult result, absl::string_view what) const;
};

// The machine's driver, opened and initialised by the first call, and never closed. kUnavailable:
// there is none, or it has no GPU; the message has the loader's or the driver's words.
absl::StatusOr<const Driver*> LoadDriver();

}  // namespace drydock::gpu::cuda

#endif  // DRYDOCK_GPU_CUDA_DRIVER_H_
