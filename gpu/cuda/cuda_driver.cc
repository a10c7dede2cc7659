#include "drydock/gpu/cuda/cuda_driver.h"

#include <cuda.h>

#include <array>
#include <utility>

#include "drydock/coro/status_macros.h"
#include "drydock/gpu/cuda/driver.h"
#include "drydock/gpu/cuda/memory_calls.h"

namespace drydock::gpu {
namespace cuda {
namespace {

DriverCode CodeOf(CUresult result) { return static_cast<DriverCode>(result); }

// `result` is of a call that has returned: arguments have no order, and a call among them may come
// after the value that it writes was read.
DriverAnswer Answer(CUresult result, std::uint64_t value) {
  return result == CUDA_SUCCESS ? DriverAnswer{DriverCode::kSuccess, value}
                                : DriverAnswer{CodeOf(result), 0};
}

class CudaDriver final : public MemoryDriver {
 public:
  explicit CudaDriver(const Driver& driver) : driver_(driver) {}
  CudaDriver(const CudaDriver&) = delete;
  CudaDriver& operator=(const CudaDriver&) = delete;
  ~CudaDriver() override {
    if (other_ != nullptr) driver_.cuCtxDestroy(other_);
    if (primary_ != nullptr) driver_.cuDevicePrimaryCtxRelease(device_);
  }
  absl::Status Open(int ordinal);

  DriverCode SetCurrent(Context context) override;
  DriverCode DestroyOther() override {
    return CodeOf(driver_.cuCtxDestroy(std::exchange(other_, nullptr)));
  }

  DriverAnswer Allocate(std::size_t length_bytes) override {
    CUdeviceptr address = 0;
    const CUresult result = driver_.cuMemAlloc(&address, length_bytes);
    return Answer(result, address);
  }
  DriverAnswer AllocateManaged(std::size_t length_bytes) override {
    CUdeviceptr address = 0;
    const CUresult result = driver_.cuMemAllocManaged(&address, length_bytes, CU_MEM_ATTACH_GLOBAL);
    return Answer(result, address);
  }
  DriverAnswer AllocateHost(std::size_t length_bytes) override {
    void* address = nullptr;
    const CUresult result =
        driver_.cuMemHostAlloc(&address, length_bytes, CU_MEMHOSTALLOC_DEVICEMAP);
    return Answer(result, reinterpret_cast<std::uint64_t>(address));
  }
  DriverCode Free(std::uint64_t address) override { return CodeOf(driver_.cuMemFree(address)); }

  std::size_t granule_bytes() const override { return granule_; }
  DriverAnswer Reserve(std::size_t length_bytes) override {
    CUdeviceptr address = 0;
    const CUresult result = driver_.cuMemAddressReserve(&address, length_bytes, 0, 0, 0);
    return Answer(result, address);
  }
  DriverAnswer Create(std::size_t length_bytes, bool rdma) override;
  DriverCode Map(std::uint64_t address, std::size_t length_bytes, std::uint64_t handle) override {
    return CodeOf(driver_.cuMemMap(address, length_bytes, 0, handle, 0));
  }
  DriverCode SetAccess(std::uint64_t address, std::size_t length_bytes) override;
  DriverCode Unmap(std::uint64_t address, std::size_t length_bytes) override {
    return CodeOf(driver_.cuMemUnmap(address, length_bytes));
  }
  DriverCode Release(std::uint64_t handle) override { return CodeOf(driver_.cuMemRelease(handle)); }

  DriverCode Query(std::uint64_t address, PointerFacts& facts) override;
  DriverAnswer RangeBytes(std::uint64_t address) override {
    CUdeviceptr base = 0;
    std::size_t bytes = 0;
    const CUresult result = driver_.cuMemGetAddressRange(&base, &bytes, address);
    return Answer(result, bytes);
  }
  DriverAnswer ExportRange(std::uint64_t address, std::size_t length_bytes) override {
    int fd = -1;
    const CUresult result = driver_.cuMemGetHandleForAddressRange(
        &fd, address, length_bytes, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
    return Answer(result, static_cast<std::uint64_t>(fd));
  }

  DriverCode Store(std::uint64_t address, std::uint64_t word) override {
    return CodeOf(driver_.cuMemcpyHtoD(address, &word, sizeof word));
  }
  DriverAnswer Load(std::uint64_t address) override {
    std::uint64_t word = 0;
    const CUresult result = driver_.cuMemcpyDtoH(&word, address, sizeof word);
    return Answer(result, word);
  }

 private:
  CUmemAllocationProp Properties(bool rdma) const;

  const Driver& driver_;
  CUdevice device_ = 0;
  CUcontext primary_ = nullptr;
  CUcontext other_ = nullptr;
  std::size_t granule_ = 0;
};

absl::Status CudaDriver::Open(int ordinal) {
  int count = 0;
  RETURN_IF_ERROR(driver_.ToStatus(driver_.cuDeviceGetCount(&count), "cuDeviceGetCount"));
  if (ordinal < 0 || ordinal >= count) {
    return absl::InvalidArgumentError(absl::StrCat("there is no cuda:", ordinal));
  }
  RETURN_IF_ERROR(driver_.ToStatus(driver_.cuDeviceGet(&device_, ordinal), "cuDeviceGet"));
  RETURN_IF_ERROR(driver_.ToStatus(driver_.cuDevicePrimaryCtxRetain(&primary_, device_),
                                   "cuDevicePrimaryCtxRetain"));
#if CUDA_VERSION >= 13000
  const CUresult created = driver_.cuCtxCreate(&other_, nullptr, 0, device_);
#else
  const CUresult created = driver_.cuCtxCreate(&other_, 0, device_);
#endif
  RETURN_IF_ERROR(driver_.ToStatus(created, "cuCtxCreate"));
  CUcontext created_context = nullptr;  // it was pushed: what the caller had is current again
  RETURN_IF_ERROR(driver_.ToStatus(driver_.cuCtxPopCurrent(&created_context), "cuCtxPopCurrent"));
  const CUmemAllocationProp properties = Properties(/*rdma=*/true);
  return driver_.ToStatus(driver_.cuMemGetAllocationGranularity(&granule_, &properties,
                                                                CU_MEM_ALLOC_GRANULARITY_MINIMUM),
                          "cuMemGetAllocationGranularity");
}

DriverCode CudaDriver::SetCurrent(Context context) {
  switch (context) {
    case Context::kNone:
      return CodeOf(driver_.cuCtxSetCurrent(nullptr));
    case Context::kPrimary:
      return CodeOf(driver_.cuCtxSetCurrent(primary_));
    case Context::kOther:
      break;
  }
  return CodeOf(driver_.cuCtxSetCurrent(other_));
}

CUmemAllocationProp CudaDriver::Properties(bool rdma) const {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device_;
  properties.allocFlags.gpuDirectRDMACapable = rdma ? 1 : 0;
  return properties;
}

DriverAnswer CudaDriver::Create(std::size_t length_bytes, bool rdma) {
  const CUmemAllocationProp properties = Properties(rdma);
  CUmemGenericAllocationHandle handle = 0;
  const CUresult result = driver_.cuMemCreate(&handle, length_bytes, &properties, 0);
  return Answer(result, handle);
}

DriverCode CudaDriver::SetAccess(std::uint64_t address, std::size_t length_bytes) {
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = device_;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return CodeOf(driver_.cuMemSetAccess(address, length_bytes, &access, 1));
}

DriverCode CudaDriver::Query(std::uint64_t address, PointerFacts& facts) {
  CUmemorytype type{};
  int managed = 0;
  int rdma = 0;
  std::array<CUpointer_attribute, 3> which = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                              CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                              CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE};
  std::array<void*, 3> where = {&type, &managed, &rdma};
  const CUresult result =
      driver_.cuPointerGetAttributes(which.size(), which.data(), where.data(), address);
  facts.known = type != CUmemorytype{};
  facts.of_device = type == CU_MEMORYTYPE_DEVICE;
  facts.managed = managed != 0;
  facts.rdma = rdma != 0;
  return CodeOf(result);
}

}  // namespace

absl::StatusOr<std::unique_ptr<MemoryDriver>> OpenMemoryCalls(const Driver& driver, int ordinal) {
  auto opened = std::make_unique<CudaDriver>(driver);
  RETURN_IF_ERROR(opened->Open(ordinal));
  return opened;
}

}  // namespace cuda

absl::StatusOr<std::unique_ptr<MemoryDriver>> OpenCudaDriver(int ordinal) {
  ASSIGN_OR_RETURN(const cuda::Driver* const driver, cuda::LoadDriver());
  return cuda::OpenMemoryCalls(*driver, ordinal);
}

}  // namespace drydock::gpu
