#include "drydock/gpu/cuda/cuda_device.h"

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/gpu/device_memory.h"
#include "drydock/testing/device/device_contract.h"
#include "drydock/testing/matchers/status_matchers.h"

namespace drydock::gpu {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing_matchers::IsOk;
using testing_matchers::StatusIs;

// None on a machine without a GPU: the contract is not run then.
std::vector<DeviceUnderTest> Devices() {
  const absl::StatusOr<int> count = CountCudaDevices();
  if (!count.ok() || *count == 0) return {};
  const auto open = [] { return OpenCudaDevice(0); };
  return {{"Plain", open, Allocation::kPlain},
          {"Virtual", open, Allocation::kVirtual},
          {"Segments", open, Allocation::kSegments}};
}

INSTANTIATE_TEST_SUITE_P(Cuda, DeviceContract, testing::ValuesIn(Devices()),
                         testing::PrintToStringParamName());

TEST(CudaDeviceTest, WithoutAGpuItSaysWhatIsMissing) {
  const absl::StatusOr<int> count = CountCudaDevices();
  if (count.ok()) {
    EXPECT_GE(*count, 1);
    return;
  }
  EXPECT_THAT(count, AnyOf(StatusIs(absl::StatusCode::kUnavailable, HasSubstr("CUDA")),
                           StatusIs(absl::StatusCode::kUnavailable, HasSubstr("cuInit")),
                           StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("toolkit"))));
  EXPECT_EQ(OpenCudaDevice(0).status(), count.status());
}

TEST(CudaDeviceTest, ANumberThatNoGpuHasIsRefused) {
  if (!CountCudaDevices().ok()) {
    EXPECT_NE(OpenCudaDevice(1000).status().code(), absl::StatusCode::kOk);
    return;
  }
  EXPECT_THAT(OpenCudaDevice(1000),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no cuda:1000")));
}

TEST(CudaDeviceTest, TwoGpusCopyToEachOther) {
  const absl::StatusOr<int> count = CountCudaDevices();
  if (!count.ok() || *count < 2) GTEST_SKIP() << "needs two GPUs";
  constexpr std::size_t kLength = 1 << 20;
  const auto first = *OpenCudaDevice(0);
  const auto second = *OpenCudaDevice(1);
  const auto from = *first->Allocate(kLength);
  const auto to = *second->Allocate(kLength);
  const auto stream = *first->OpenStream();
  ASSERT_THAT(stream->Fill(from->address(), kLength, {1}), IsOk());
  ASSERT_THAT(stream->Copy(to->address(), from->address(), kLength), IsOk());
  ASSERT_THAT(stream->Synchronize(), IsOk());
  const auto other = *second->OpenStream();
  const auto mismatch = other->Verify(to->address(), kLength, {1});
  ASSERT_THAT(mismatch, IsOk());
  EXPECT_TRUE(mismatch->none());
}

}  // namespace
}  // namespace drydock::gpu
