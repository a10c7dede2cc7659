// A program that takes registered memory away from under its NIC dies, and is told why.

#include "drydock/sim/verbs/lost_memory.h"

#include <infiniband/verbs.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <thread>

#include "drydock/sim/verbs/testing/end.h"
#include "drydock/testing/harness/sanitizer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::size_t kBytes = 8192;

// Memory of its own, registered at `end`, which peers may write.
struct Mapped {
  explicit Mapped(End& end)
      : address(static_cast<std::byte*>(
            mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))),
        region(ibv_reg_mr(end.domain, address, kBytes,
                          IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)) {}

  std::byte* address;
  ibv_mr* region;
};

void WriteInto(End& writer, End& target, const Mapped& mapped) {
  target.HandleOf(writer);  // it takes writes from machines that it knows
  writer.Post(target, 1, [&](ibv_qp_ex* posts) {
    ibv_wr_rdma_write(posts, mapped.region->rkey, reinterpret_cast<std::uintptr_t>(mapped.address));
    ibv_wr_set_sge(posts, writer.region->lkey, writer.address(0), 8);
  });
}

class LostMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (harness::kSanitized) GTEST_SKIP() << "the sanitizer explains it in its own words";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
};

TEST_F(LostMemoryTest, UnmappedMemoryIsNamed) {
  EXPECT_EXIT(
      {
        End writer({.nic = 0});
        End target({.nic = 1});
        const Mapped mapped(target);
        munmap(mapped.address, kBytes);
        WriteInto(writer, target, mapped);
        Await(writer.send_queue);
      },
      ::testing::KilledBySignal(SIGSEGV),
      "drydock-efa: a simulated NIC met memory at 0x.* unmapped or protected .*8192 bytes");
}

// The device is at work in its own thread while the program sleeps.
TEST_F(LostMemoryTest, ProtectedMemoryIsNamed) {
  EXPECT_EXIT(
      {
        End writer({.nic = 0});
        End target({.nic = 1});
        const Mapped mapped(target);
        mprotect(mapped.address, kBytes, PROT_READ);
        WriteInto(writer, target, mapped);
        std::this_thread::sleep_for(std::chrono::minutes(1));
      },
      ::testing::KilledBySignal(SIGSEGV), "unmapped or protected");
}

// Not only an access raises it.
TEST_F(LostMemoryTest, ASignalThatSomebodySendsIsPassedOn) {
  EXPECT_EXIT(
      {
        End end({.nic = 0});
        raise(SIGBUS);
      },
      ::testing::KilledBySignal(SIGBUS), "");
}

// A program's own mistake is its own, and its handler still hears of it.
TEST_F(LostMemoryTest, WhatIsNotTheDevicesIsPassedOn) {
  EXPECT_EXIT(
      {
        signal(SIGSEGV, [](int) { _exit(42); });
        End target({.nic = 1});
        const Mapped mapped(target);
        munmap(mapped.address, kBytes);
        *const_cast<volatile std::byte*>(mapped.address) = std::byte{1};
      },
      ::testing::ExitedWithCode(42), Not(HasSubstr("a simulated NIC met memory")));
}

}  // namespace
}  // namespace drydock::sim_testing
