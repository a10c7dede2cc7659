// The attributes that libfabric gets for each kind of memory, and which requests are refused with
// which words.

#include "drydock/fabric/libfabric/registration.h"

#include <rdma/fabric.h>

#include <cstddef>
#include <memory>

#include "absl/status/status.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::fabric::libfabric {
namespace {

using ::drydock::testing_matchers::IsOk;
using ::drydock::testing_matchers::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

class RegistrationTest : public ::testing::Test {
 protected:
  RegistrationTest() {
    fabric_.prov_name = name_;
    fabric_.api_version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION);
  }

  // A provider with these capabilities.
  const fi_info& Provider(std::uint64_t capabilities) {
    info_.caps = capabilities;
    info_.fabric_attr = &fabric_;
    return info_;
  }

  char name_[6] = "maker";
  fi_fabric_attr fabric_{};
  fi_info info_{};
  std::byte memory_[64]{};
  MemoryRequest request_{.data = memory_, .length_bytes = sizeof(memory_)};
  Registration registration_;
};

TEST_F(RegistrationTest, HostMemoryIsItsAddress) {
  ASSERT_THAT(Describe(request_, Provider(0), registration_), IsOk());
  EXPECT_EQ(registration_.attributes.mr_iov->iov_base, memory_);
  EXPECT_EQ(registration_.attributes.mr_iov->iov_len, sizeof(memory_));
  EXPECT_EQ(registration_.attributes.iface, FI_HMEM_SYSTEM);
  EXPECT_EQ(registration_.flags, 0u);
}

TEST_F(RegistrationTest, CudaMemoryIsItsAddressAndItsDevice) {
  request_.kind = MemoryKind::kCuda;
  request_.device = 3;
  ASSERT_THAT(Describe(request_, Provider(FI_HMEM), registration_), IsOk());
  EXPECT_EQ(registration_.attributes.iface, FI_HMEM_CUDA);
  EXPECT_EQ(registration_.attributes.device.cuda, 3);
  EXPECT_EQ(registration_.attributes.mr_iov->iov_base, memory_);
}

TEST_F(RegistrationTest, AProviderWithoutHmemIsNamed) {
  request_.kind = MemoryKind::kCuda;
  EXPECT_THAT(Describe(request_, Provider(FI_MSG | FI_RMA), registration_),
              StatusIs(absl::StatusCode::kUnimplemented,
                       AllOf(HasSubstr("maker"), HasSubstr("no FI_HMEM here"))));
}

TEST_F(RegistrationTest, TheStandInIsForSimulatedNics) {
  request_.kind = MemoryKind::kStandIn;
  EXPECT_THAT(Describe(request_, Provider(FI_HMEM), registration_),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("--fabric=sim")));
}

TEST_F(RegistrationTest, ADmabufIsAFile) {
  request_.kind = MemoryKind::kCuda;
  request_.dmabuf = DmabufHandle{.fd = -1, .offset_bytes = 0};
  EXPECT_THAT(Describe(request_, Provider(FI_HMEM), registration_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("-1")));
}

TEST_F(RegistrationTest, ADmabufIsItsDescriptorWhereTheLibraryKnowsIt) {
  request_.kind = MemoryKind::kCuda;
  request_.data += 16;
  request_.length_bytes = 32;
  request_.dmabuf = DmabufHandle{.fd = 7, .offset_bytes = 16};
  const absl::Status status = Describe(request_, Provider(FI_HMEM), registration_);
#ifdef FI_MR_DMABUF
  ASSERT_THAT(status, IsOk());
  EXPECT_EQ(registration_.flags, FI_MR_DMABUF);
  EXPECT_EQ(registration_.attributes.dmabuf->fd, 7);
  EXPECT_EQ(registration_.attributes.dmabuf->offset, 16u);
  EXPECT_EQ(registration_.attributes.dmabuf->len, 32u);
  EXPECT_EQ(registration_.attributes.dmabuf->base_addr, memory_);
#else
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnimplemented,
                               AllOf(HasSubstr("FI_MR_DMABUF"), HasSubstr("1.20"))));
#endif
}

}  // namespace
}  // namespace drydock::fabric::libfabric
