// What a GPU's driver gives arrives, and is what the next call is given. The driver is a double:
// what a real one answers is a matter of dmabuf --kinds.

#include "drydock/gpu/cuda/cuda_driver.h"

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/gpu/cuda/driver.h"
#include "drydock/gpu/cuda/memory_calls.h"
#include "drydock/gpu/memory_driver.h"
#include "gtest/gtest.h"

namespace drydock::gpu::cuda {
namespace {

constexpr CUdeviceptr kPlain = 0x1000000;
constexpr CUdeviceptr kManaged = 0x2000000;
constexpr CUdeviceptr kReserved = 0x3000000;
constexpr CUmemGenericAllocationHandle kHandle = 42;
constexpr std::size_t kGranule = 2 << 20;

CUcontext ContextAt(std::uintptr_t number) { return reinterpret_cast<CUcontext>(number); }
const CUcontext kCallers = ContextAt(1);
const CUcontext kPrimaryContext = ContextAt(2);
const CUcontext kCreated = ContextAt(3);

// The calling thread's contexts; the last one is current.
std::vector<CUcontext> stack;

CUresult Push(CUcontext* context) {
  *context = kCreated;
  stack.push_back(kCreated);
  return CUDA_SUCCESS;
}

// One GPU, whose calls give the constants and take no other.
Driver Double() {
  Driver driver;
  driver.cuDeviceGetCount = [](int* count) {
    *count = 1;
    return CUDA_SUCCESS;
  };
  driver.cuDeviceGet = [](CUdevice* device, int) {
    *device = 0;
    return CUDA_SUCCESS;
  };
  driver.cuDevicePrimaryCtxRetain = [](CUcontext* context, CUdevice) {
    *context = kPrimaryContext;
    return CUDA_SUCCESS;
  };
  driver.cuDevicePrimaryCtxRelease = [](CUdevice) { return CUDA_SUCCESS; };
  driver.cuCtxDestroy = [](CUcontext) { return CUDA_SUCCESS; };
#if CUDA_VERSION >= 13000
  driver.cuCtxCreate = [](CUcontext* context, CUctxCreateParams*, unsigned, CUdevice) {
    return Push(context);
  };
#else
  driver.cuCtxCreate = [](CUcontext* context, unsigned, CUdevice) { return Push(context); };
#endif
  driver.cuCtxPopCurrent = [](CUcontext* context) {
    *context = stack.back();
    stack.pop_back();
    return CUDA_SUCCESS;
  };
  driver.cuCtxSetCurrent = [](CUcontext context) {
    stack.back() = context;
    return CUDA_SUCCESS;
  };
  driver.cuMemGetAllocationGranularity = [](std::size_t* granule, const CUmemAllocationProp*,
                                            CUmemAllocationGranularity_flags) {
    *granule = kGranule;
    return CUDA_SUCCESS;
  };
  driver.cuMemAlloc = [](CUdeviceptr* address, std::size_t) {
    *address = kPlain;
    return CUDA_SUCCESS;
  };
  driver.cuMemAllocManaged = [](CUdeviceptr* address, std::size_t, unsigned) {
    *address = kManaged;
    return CUDA_SUCCESS;
  };
  driver.cuMemAddressReserve = [](CUdeviceptr* address, std::size_t, std::size_t, CUdeviceptr,
                                  unsigned long long) {
    *address = kReserved;
    return CUDA_SUCCESS;
  };
  driver.cuMemCreate = [](CUmemGenericAllocationHandle* handle, std::size_t,
                          const CUmemAllocationProp*, unsigned long long) {
    *handle = kHandle;
    return CUDA_SUCCESS;
  };
  driver.cuMemMap = [](CUdeviceptr address, std::size_t, std::size_t,
                       CUmemGenericAllocationHandle handle, unsigned long long) {
    return address == kReserved && handle == kHandle ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  };
  driver.cuMemGetAddressRange = [](CUdeviceptr* base, std::size_t* bytes, CUdeviceptr address) {
    *base = address;
    *bytes = kGranule;
    return address == kPlain ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
  };
  driver.cuMemGetHandleForAddressRange = [](void* handle, CUdeviceptr address, std::size_t,
                                            CUmemRangeHandleType, unsigned long long) {
    *static_cast<int*>(handle) = 7;
    return address == kPlain ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  };
  driver.cuMemcpyDtoH = [](void* word, CUdeviceptr, std::size_t) {
    *static_cast<std::uint64_t*>(word) = 9;
    return CUDA_SUCCESS;
  };
  return driver;
}

class CudaDriverTest : public testing::Test {
 protected:
  void SetUp() override {
    stack = {kCallers};
    auto opened = OpenMemoryCalls(driver_, /*ordinal=*/0);
    ASSERT_TRUE(opened.ok()) << opened.status();
    calls_ = *std::move(opened);
  }

  Driver driver_ = Double();
  std::unique_ptr<MemoryDriver> calls_;
};

TEST_F(CudaDriverTest, EachContextIsItself) {
  EXPECT_EQ(stack, std::vector{kCallers});  // what the thread had before is current again
  EXPECT_EQ(calls_->SetCurrent(MemoryDriver::Context::kPrimary), DriverCode::kSuccess);
  EXPECT_EQ(stack, std::vector{kPrimaryContext});
  EXPECT_EQ(calls_->SetCurrent(MemoryDriver::Context::kOther), DriverCode::kSuccess);
  EXPECT_EQ(stack, std::vector{kCreated});
  EXPECT_EQ(calls_->SetCurrent(MemoryDriver::Context::kNone), DriverCode::kSuccess);
  EXPECT_EQ(stack, std::vector<CUcontext>{nullptr});
}

TEST_F(CudaDriverTest, WhatACallGivesArrives) {
  EXPECT_EQ(calls_->granule_bytes(), kGranule);
  EXPECT_EQ(calls_->Allocate(kGranule).value, kPlain);
  EXPECT_EQ(calls_->AllocateManaged(kGranule).value, kManaged);
  EXPECT_EQ(calls_->Reserve(kGranule).value, kReserved);
  EXPECT_EQ(calls_->Create(kGranule, /*rdma=*/true).value, kHandle);
  EXPECT_EQ(calls_->RangeBytes(kPlain).value, kGranule);
  EXPECT_EQ(calls_->ExportRange(kPlain, kGranule).value, 7u);
  EXPECT_EQ(calls_->Load(kPlain).value, 9u);
}

TEST_F(CudaDriverTest, ItIsWhatTheNextCallIsGiven) {
  const DriverAnswer plain = calls_->Allocate(kGranule);
  EXPECT_EQ(calls_->ExportRange(plain.value, kGranule).code, DriverCode::kSuccess);
  const DriverAnswer reserved = calls_->Reserve(kGranule);
  const DriverAnswer handle = calls_->Create(kGranule, /*rdma=*/true);
  EXPECT_EQ(calls_->Map(reserved.value, kGranule, handle.value), DriverCode::kSuccess);
}

TEST_F(CudaDriverTest, AnErrorIsGivenWithoutAValue) {
  EXPECT_EQ(calls_->RangeBytes(0).code, DriverCode::kNotFound);
  EXPECT_EQ(calls_->RangeBytes(0).value, 0u);
  EXPECT_EQ(calls_->ExportRange(0, kGranule).code, DriverCode::kInvalidValue);
  EXPECT_EQ(calls_->ExportRange(0, kGranule).value, 0u);
}

}  // namespace
}  // namespace drydock::gpu::cuda
