// Memory regions that a program can and cannot register.

#include <infiniband/verbs.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "drydock/sim/profile/profile.h"
#include "drydock/sim/verbs/newer_functions.h"
#include "drydock/sim/verbs/testing/end.h"
#include "drydock/sim/verbs/testing/many_objects.h"
#include "drydock/sim/verbs/testing/profile_in_use.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

// An int: the macros of verbs.h mix enumerations otherwise.
constexpr int kLocalWrite = IBV_ACCESS_LOCAL_WRITE;

using sim::DeviceAttributes;

class RegionTest : public ::testing::Test {
 protected:
  // The errno of a registration that fails; 0 of one that does not.
  int Registering(void* address, std::size_t length, unsigned access = IBV_ACCESS_LOCAL_WRITE) {
    ibv_mr* region = ibv_reg_mr(end_.domain, address, length, static_cast<int>(access));
    if (region == nullptr) return errno;
    EXPECT_EQ(ibv_dereg_mr(region), 0);
    return 0;
  }

  End end_{{.ready = false}};
};

TEST_F(RegionTest, ARegion) {
  ibv_mr* one = ibv_reg_mr(end_.domain, end_.at(10), 100, kLocalWrite);
  ibv_mr* other = ibv_reg_mr(end_.domain, end_.at(10), 100, kLocalWrite);
  ASSERT_NE(one, nullptr);
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(one->addr, end_.at(10));
  EXPECT_EQ(one->length, 100u);
  EXPECT_EQ(one->pd, end_.domain);
  EXPECT_EQ(one->context, end_.context);
  EXPECT_NE(one->lkey, other->lkey);
  EXPECT_NE(one->rkey, other->rkey);
  EXPECT_EQ(ibv_dereg_mr(one), 0);
  EXPECT_EQ(ibv_dereg_mr(other), 0);
}

TEST_F(RegionTest, InterconnectsAreUnknownInEveryLengthOfTheStructure) {
  using sim::verbs::MrAttr;
  ibv_mr* region = ibv_reg_mr(end_.domain, end_.at(0), 8, kLocalWrite);
  alignas(8) std::array<std::uint8_t, sizeof(MrAttr) + 16> bytes;
  bytes.fill(0xee);
  auto* const attr = reinterpret_cast<MrAttr*>(bytes.data());
  EXPECT_EQ(sim::verbs::QueryEfaRegion(region, attr, sizeof *attr - 1), EINVAL);
  ASSERT_EQ(sim::verbs::QueryEfaRegion(region, attr, sizeof *attr + 8), 0);
  EXPECT_TRUE(std::all_of(bytes.begin(), bytes.end() - 8, [](int b) { return b == 0; }));
  EXPECT_EQ(bytes[sizeof *attr + 8], 0xee);
  EXPECT_EQ(ibv_dereg_mr(region), 0);
}

TEST_F(RegionTest, RegionsThatAreRefused) {
  EXPECT_EQ(Registering(end_.at(0), 1), 0);
  EXPECT_EQ(Registering(end_.at(0), 0), EINVAL);
  // Their pages would end behind the last address: whole ones, a part of one, and too many.
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  for (const std::uintptr_t before_end : {11 * page, page, page - 100, std::uintptr_t{11}}) {
    auto* const address = reinterpret_cast<void*>(~std::uintptr_t{0} - before_end + 1);
    EXPECT_EQ(Registering(address, before_end - 1), EINVAL) << before_end;
    EXPECT_EQ(Registering(address, before_end + 100), EINVAL) << before_end;
    EXPECT_EQ(Registering(address, SIZE_MAX), EINVAL) << before_end;
  }
  EXPECT_EQ(Registering(reinterpret_cast<void*>(~std::uintptr_t{0} - 2 * page + 1), page), EFAULT);
  EXPECT_EQ(Registering(end_.at(0), 1, IBV_ACCESS_REMOTE_ATOMIC), EOPNOTSUPP);
  EXPECT_EQ(Registering(end_.at(0), 1, IBV_ACCESS_ON_DEMAND), EOPNOTSUPP);
  EXPECT_EQ(Registering(end_.at(0), 1, IBV_ACCESS_RELAXED_ORDERING), 0);  // a hint
  errno = 0;
  EXPECT_EQ(ibv_reg_mr_iova(end_.domain, end_.at(0), 64, /*iova=*/0, kLocalWrite), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST_F(RegionTest, RightsThatTheDeviceDoesNotHave) {
  const DeviceAttributes& device = Device();
  EXPECT_EQ(Registering(end_.at(0), 64, IBV_ACCESS_REMOTE_READ), device.rdma_read ? 0 : EOPNOTSUPP);
  EXPECT_EQ(Registering(end_.at(0), 64, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
            device.rdma_write ? 0 : EOPNOTSUPP);
}

TEST_F(RegionTest, MemoryThatIsNotThere) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  auto* pages = static_cast<std::byte*>(
      mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  EXPECT_EQ(Registering(pages, 3 * page), 0);
  ASSERT_EQ(munmap(pages + page, page), 0);
  EXPECT_EQ(Registering(pages, page), 0);
  EXPECT_EQ(Registering(pages, page + 1), EFAULT);
  EXPECT_EQ(Registering(pages, 3 * page), EFAULT);  // a hole
  EXPECT_EQ(Registering(pages + page + 100, 8), EFAULT);
  EXPECT_EQ(Registering(pages + 2 * page, page), 0);
  munmap(pages, 3 * page);
}

// A kernel refuses to pin pages for more than the process itself may do.
TEST_F(RegionTest, RightsThatThePagesDoNotHave) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (const std::size_t pages : {4u, 1024u}) {  // small, and large
    auto* memory = static_cast<std::byte*>(
        mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(memory, MAP_FAILED);
    ASSERT_EQ(mprotect(memory + page, page, PROT_READ), 0);
    const std::size_t all = pages * page;
    EXPECT_EQ(Registering(memory, page), 0);
    EXPECT_EQ(Registering(memory, page + 1), EFAULT);
    EXPECT_EQ(Registering(memory, all), EFAULT);
    EXPECT_EQ(Registering(memory + 2 * page, all - 2 * page), 0);
    EXPECT_EQ(Registering(memory, all, 0), 0);  // to be read by the device alone
    if (Device().rdma_read) {
      EXPECT_EQ(Registering(memory, all, IBV_ACCESS_REMOTE_READ), 0);
    }
    if (Device().rdma_write) {
      constexpr int kWriting = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
      EXPECT_EQ(Registering(memory, all, kWriting), EFAULT);
      EXPECT_EQ(Registering(memory, page, kWriting), 0);
      // What peers may write to, the device itself may.
      EXPECT_EQ(Registering(memory, page, IBV_ACCESS_REMOTE_WRITE), EINVAL);
    }
    ASSERT_EQ(mprotect(memory + page, page, PROT_NONE), 0);
    EXPECT_EQ(Registering(memory, all, 0), EFAULT);
    munmap(memory, all);
  }
}

TEST_F(RegionTest, MemoryBehindADescriptor) {
  const int fd = memfd_create("device", MFD_CLOEXEC);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(ftruncate(fd, 1 << 16), 0);
  void* mapped = mmap(nullptr, 1 << 16, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  const auto iova = reinterpret_cast<std::uint64_t>(mapped);
  ibv_mr* region = ibv_reg_dmabuf_mr(end_.domain, 0, 1 << 16, iova, fd, IBV_ACCESS_LOCAL_WRITE);
  ASSERT_NE(region, nullptr) << std::strerror(errno);
  EXPECT_EQ(ibv_dereg_mr(region), 0);
  EXPECT_EQ(ibv_reg_dmabuf_mr(end_.domain, 0, 0, iova, fd, IBV_ACCESS_LOCAL_WRITE), nullptr);
  EXPECT_EQ(errno, EINVAL);
  for (const std::uint64_t offset : {std::uint64_t{1}, std::uint64_t{1} << 20, ~std::uint64_t{0}}) {
    errno = 0;  // 64 KiB from there are not in it
    EXPECT_EQ(ibv_reg_dmabuf_mr(end_.domain, offset, 1 << 16, iova, fd, IBV_ACCESS_LOCAL_WRITE),
              nullptr);
    EXPECT_EQ(errno, EINVAL) << offset;
  }
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  errno = 0;
  EXPECT_EQ(ibv_reg_dmabuf_mr(end_.domain, 0, 64, iova, ends[0], IBV_ACCESS_LOCAL_WRITE), nullptr);
  EXPECT_EQ(errno, EINVAL);  // no dmabuf
  close(ends[0]);
  close(ends[1]);
  munmap(mapped, 1 << 16);
  // The host cannot reach it any more.
  EXPECT_EQ(ibv_reg_dmabuf_mr(end_.domain, 0, 1 << 16, iova, fd, IBV_ACCESS_LOCAL_WRITE), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  close(fd);
  EXPECT_EQ(ibv_reg_dmabuf_mr(end_.domain, 0, 64, end_.address(0), fd, IBV_ACCESS_LOCAL_WRITE),
            nullptr);
  EXPECT_EQ(errno, EBADF);
}

TEST_F(RegionTest, AllRegionsThatADeviceHas) {
  if (Device().max_mr > 10000) GTEST_SKIP() << "too many to make";
  const std::size_t made = MakeMany<ibv_mr>(
      Device().max_mr + 1, [&] { return ibv_reg_mr(end_.domain, end_.at(0), 8, kLocalWrite); },
      ibv_dereg_mr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(made, Device().max_mr - 1);  // one is the end's own
  EXPECT_EQ(Registering(end_.at(0), 8), 0);
}

}  // namespace
}  // namespace drydock::sim_testing
