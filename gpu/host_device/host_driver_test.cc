// What the stand-in's driver answers. The same answers of a GPU's: dmabuf --kinds.

#include "drydock/gpu/host_device/host_driver.h"

#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "gtest/gtest.h"

namespace drydock::gpu {
namespace {

constexpr std::size_t kMiB = 1 << 20;

class HostDriverTest : public testing::Test {
 protected:
  HostDriverTest() { driver_->SetCurrent(MemoryDriver::Context::kPrimary); }

  DriverCode Export(std::uint64_t address, std::size_t length) {
    const DriverAnswer dmabuf = driver_->ExportRange(address, length);
    if (dmabuf.ok()) close(static_cast<int>(dmabuf.value));
    return dmabuf.code;
  }
  // A granule of a reservation that has memory from then on.
  void Map(std::uint64_t address) {
    const std::uint64_t handle = driver_->Create(granule_, /*rdma=*/true).value;
    ASSERT_EQ(driver_->Map(address, granule_, handle), DriverCode::kSuccess);
    ASSERT_EQ(driver_->Release(handle), DriverCode::kSuccess);
  }

  const std::unique_ptr<MemoryDriver> driver_ = OpenHostDriver();
  const std::size_t granule_ = driver_->granule_bytes();
};

TEST_F(HostDriverTest, AThreadWithoutAContextIsRefused) {
  const std::uint64_t address = driver_->Allocate(kMiB).value;
  std::thread([&] {
    EXPECT_EQ(Export(address, kMiB), DriverCode::kInvalidContext);
    EXPECT_EQ(driver_->Allocate(kMiB).code, DriverCode::kInvalidContext);
    PointerFacts facts;
    EXPECT_EQ(driver_->Query(address, facts), DriverCode::kSuccess);
    EXPECT_TRUE(facts.known);
    driver_->SetCurrent(MemoryDriver::Context::kOther);
    EXPECT_EQ(Export(address, kMiB), DriverCode::kSuccess);
  }).join();
  EXPECT_EQ(Export(address, kMiB), DriverCode::kSuccess);
}

TEST_F(HostDriverTest, ADmabufIsOfWholePagesThatAreMapped) {
  const std::uint64_t two = driver_->Reserve(2 * granule_).value;
  EXPECT_EQ(Export(two, granule_), DriverCode::kInvalidValue);
  Map(two);
  EXPECT_EQ(Export(two, granule_), DriverCode::kSuccess);
  EXPECT_EQ(Export(two, 2 * granule_), DriverCode::kInvalidValue);
  Map(two + granule_);
  EXPECT_EQ(Export(two, 2 * granule_), DriverCode::kSuccess);
  EXPECT_EQ(Export(two + 256, kMiB), DriverCode::kInvalidValue);
  EXPECT_EQ(Export(two, 256), DriverCode::kInvalidValue);
  EXPECT_EQ(Export(two, 0 - granule_), DriverCode::kInvalidValue);
  EXPECT_EQ(driver_->RangeBytes(two).value, granule_);
  ASSERT_EQ(driver_->Unmap(two, 2 * granule_), DriverCode::kSuccess);
  EXPECT_EQ(Export(two, granule_), DriverCode::kInvalidValue);
}

TEST_F(HostDriverTest, MappingsDoNotOverlap) {
  const std::uint64_t two = driver_->Reserve(2 * granule_).value;
  const std::uint64_t handle = driver_->Create(granule_, true).value;
  EXPECT_EQ(driver_->Map(two + 2 * granule_, granule_, handle), DriverCode::kInvalidValue);
  EXPECT_EQ(driver_->Map(two, granule_ / 2, handle), DriverCode::kInvalidValue);
  EXPECT_EQ(driver_->Map(two + 4096, granule_, handle), DriverCode::kInvalidValue);
  EXPECT_EQ(driver_->Map(0 - granule_, granule_, handle), DriverCode::kInvalidValue);
  Map(two + granule_);
  EXPECT_EQ(driver_->Map(two + granule_, granule_, handle), DriverCode::kInvalidValue);
  EXPECT_EQ(driver_->SetAccess(two, 2 * granule_), DriverCode::kInvalidValue);
  EXPECT_EQ(driver_->Store(two + granule_, 7), DriverCode::kInvalidValue);
  EXPECT_EQ(driver_->SetAccess(two + granule_, granule_), DriverCode::kSuccess);
  EXPECT_EQ(driver_->Store(two + granule_, 7), DriverCode::kSuccess);
  EXPECT_EQ(driver_->Load(two + granule_).value, 7u);
}

TEST_F(HostDriverTest, AChildIsRefused) {
  const std::uint64_t address = driver_->Allocate(kMiB).value;
  const pid_t child = fork();
  if (child == 0) {
    const bool refused = Export(address, kMiB) == DriverCode::kNotInitialized &&
                         driver_->Allocate(kMiB).code == DriverCode::kNotInitialized;
    _exit(refused ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(Export(address, kMiB), DriverCode::kSuccess);
}

}  // namespace
}  // namespace drydock::gpu
