// A GPU's driver as a library that registers memory calls it, call by call and in its own words: a
// real one, or the stand-in's model of it (host_device/host_driver.h).
//
//   contexts   which one is current is a matter of each thread
//   memory     plain, managed, of the host; or a range of addresses and what is mapped there
//   dmabuf     of a range of addresses: which ranges, and what the descriptor is worth afterwards
//
// A Device (device_memory.h) makes a context current by itself and exports whole allocations, so
// that its users meet none of this. Programs that call CUDA do.

#ifndef DRYDOCK_GPU_MEMORY_DRIVER_H_
#define DRYDOCK_GPU_MEMORY_DRIVER_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"

namespace drydock::gpu {

// What a call answers, by CUDA's numbers (cuda.h, CUresult). A real driver may answer with others.
enum class DriverCode : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kInvalidContext = 201,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotPermitted = 800,
  kNotSupported = 801,
};

// "CUDA_ERROR_INVALID_VALUE"; of one that has no name here, its number.
inline std::string NameOf(DriverCode code) {
  switch (code) {
    case DriverCode::kSuccess:
      return "CUDA_SUCCESS";
    case DriverCode::kInvalidValue:
      return "CUDA_ERROR_INVALID_VALUE";
    case DriverCode::kOutOfMemory:
      return "CUDA_ERROR_OUT_OF_MEMORY";
    case DriverCode::kNotInitialized:
      return "CUDA_ERROR_NOT_INITIALIZED";
    case DriverCode::kInvalidContext:
      return "CUDA_ERROR_INVALID_CONTEXT";
    case DriverCode::kInvalidHandle:
      return "CUDA_ERROR_INVALID_HANDLE";
    case DriverCode::kNotFound:
      return "CUDA_ERROR_NOT_FOUND";
    case DriverCode::kNotPermitted:
      return "CUDA_ERROR_NOT_PERMITTED";
    case DriverCode::kNotSupported:
      return "CUDA_ERROR_NOT_SUPPORTED";
  }
  return absl::StrCat("CUresult ", static_cast<int>(code));
}

// A number where the call went well.
struct DriverAnswer {
  DriverCode code = DriverCode::kSuccess;
  std::uint64_t value = 0;

  bool ok() const { return code == DriverCode::kSuccess; }
};

// What the driver knows about an address. Of one that it does not know: nothing.
struct PointerFacts {
  bool known = false;
  bool of_device = false;  // CU_MEMORYTYPE_DEVICE; managed memory is that, too
  bool managed = false;
  bool rdma = false;  // CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE
};

// One GPU. Every call answers kNotInitialized in a child that was forked after the driver was
// opened, as CUDA does; those marked (c) answer kInvalidContext on a thread without a context.
// Addresses are the device's; lengths are in bytes. What was not given back goes with the process.
// Threads: thread-safe; a context is current for the thread that sets it.
class MemoryDriver {
 public:
  // kPrimary: that of the CUDA runtime. kOther: a second one on the same GPU.
  enum class Context { kNone, kPrimary, kOther };

  virtual ~MemoryDriver() = default;

  // Which one the calling thread uses from now on; a new thread has kNone (cuCtxSetCurrent).
  virtual DriverCode SetCurrent(Context context) = 0;
  // kOther goes, with the memory that was allocated in it (cuCtxDestroy). No thread may use it.
  virtual DriverCode DestroyOther() = 0;

  // --- Allocations: answer with an address; kOutOfMemory: no room; kInvalidValue: of no bytes ---
  // (c) As cudaMalloc (cuMemAlloc).
  virtual DriverAnswer Allocate(std::size_t length_bytes) = 0;
  // (c) Reached by GPUs and the host, moves between them (cuMemAllocManaged).
  virtual DriverAnswer AllocateManaged(std::size_t length_bytes) = 0;
  // (c) Of the host, locked, mapped for GPUs (cuMemHostAlloc).
  virtual DriverAnswer AllocateHost(std::size_t length_bytes) = 0;
  // (c) Of the first two; kInvalidValue: nothing begins there (cuMemFree).
  virtual DriverCode Free(std::uint64_t address) = 0;

  // --- Virtual memory management: needs no context; sizes are whole granules, else kInvalidValue
  // (cuMemGetAllocationGranularity) ---
  virtual std::size_t granule_bytes() const = 0;
  // Addresses with nothing behind them (cuMemAddressReserve).
  virtual DriverAnswer Reserve(std::size_t length_bytes) = 0;
  // Memory without an address, as a handle. `rdma`: with CUmemAllocationProp's
  // gpuDirectRDMACapable (cuMemCreate).
  virtual DriverAnswer Create(std::size_t length_bytes, bool rdma) = 0;
  // The whole of a handle at a granule of a reservation; kInvalidValue: it is none, or something is
  // there (cuMemMap). No device may access it yet.
  virtual DriverCode Map(std::uint64_t address, std::size_t length_bytes, std::uint64_t handle) = 0;
  // The GPU may read and write from now on; kInvalidValue: not all of it is mapped
  // (cuMemSetAccess).
  virtual DriverCode SetAccess(std::uint64_t address, std::size_t length_bytes) = 0;
  // Whole mappings; kInvalidValue: not all of it is mapped (cuMemUnmap).
  virtual DriverCode Unmap(std::uint64_t address, std::size_t length_bytes) = 0;
  // The handle; the memory stays while it is mapped or has a dmabuf (cuMemRelease).
  virtual DriverCode Release(std::uint64_t handle) = 0;

  // --- Queries of a library that registers memory ---
  // Needs no context (cuPointerGetAttributes).
  virtual DriverCode Query(std::uint64_t address, PointerFacts& facts) = 0;
  // (c) Bytes of the allocation that holds the address: of virtual memory the one mapping, whatever
  // lies beside it; kInvalidValue: there is none (cuMemGetAddressRange).
  virtual DriverAnswer RangeBytes(std::uint64_t address) = 0;
  // (c) A dmabuf of exactly this range: answers with a descriptor, the caller's to close. What it
  // names stays while it is open (cuMemGetHandleForAddressRange, CUDA 13: a range that cuMemAlloc
  // gave or that is mapped throughout, by allocations of one device and of equal properties, at
  // pages of the host). kInvalidValue: it is no such range.
  virtual DriverAnswer ExportRange(std::uint64_t address, std::size_t length_bytes) = 0;

  // (c) Writes a word of 8 bytes at an address, by a copy (cuMemcpyHtoD); kInvalidValue: no memory
  // that the GPU may access is there.
  virtual DriverCode Store(std::uint64_t address, std::uint64_t word) = 0;
  // (c) Answers with the word at an address, by a copy (cuMemcpyDtoH); kInvalidValue as for Store.
  virtual DriverAnswer Load(std::uint64_t address) = 0;
};

}  // namespace drydock::gpu

#endif  // DRYDOCK_GPU_MEMORY_DRIVER_H_
