// The objects that a program can make on a device: against the profile that the environment names.

#include <infiniband/efadv.h>
#include <infiniband/verbs.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/sim/efa_address.h"
#include "drydock/sim/hosts/host.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/verbs/newer_abi.h"
#include "drydock/sim/verbs/settings.h"
#include "drydock/sim/verbs/testing/end.h"
#include "drydock/sim/verbs/testing/profile_in_use.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

// An int: the macros of verbs.h mix enumerations otherwise.
constexpr int kLocalWrite = IBV_ACCESS_LOCAL_WRITE;

using sim::DeviceAttributes;

// Calls `make` until it gives null, at most `most` times; `end` destroys the objects. Returns how
// many there were; errno is that of the last one.
template <typename Thing>
std::size_t MakeMany(std::size_t most, const std::function<Thing*()>& make,
                     const std::function<int(Thing*)>& end) {
  std::vector<Thing*> things;
  int error = 0;
  while (things.size() < most) {
    Thing* thing = make();
    error = errno;
    if (thing == nullptr) break;
    things.push_back(thing);
  }
  for (Thing* thing : things) EXPECT_EQ(end(thing), 0);
  errno = error;
  return things.size();
}

// ---- Memory ----

class ObjectsTest : public ::testing::Test {
 protected:
  ObjectsTest() : end_({.ready = false}) {}
  // The errno of a registration that fails; 0 of one that does not.
  int Registering(void* address, std::size_t length, unsigned access = IBV_ACCESS_LOCAL_WRITE) {
    ibv_mr* region = ibv_reg_mr(end_.domain, address, length, static_cast<int>(access));
    if (region == nullptr) return errno;
    EXPECT_EQ(ibv_dereg_mr(region), 0);
    return 0;
  }
  // The errno of an address handle that is refused; 0 of one that is not.
  int Addressing(const ibv_gid& gid) {
    ibv_ah_attr attr{};
    attr.is_global = 1;
    attr.port_num = 1;
    attr.grh.dgid = gid;
    ibv_ah* handle = ibv_create_ah(end_.domain, &attr);
    if (handle == nullptr) return errno;
    EXPECT_EQ(ibv_destroy_ah(handle), 0);
    return 0;
  }
  End end_;
};

// Another machine of the network, in this process.
std::unique_ptr<sim::Host> Join(std::uint32_t zone = 0) {
  absl::StatusOr<std::unique_ptr<sim::Host>> host =
      sim::Host::Join({.fabric = std::getenv(sim::verbs::kFabricVariable),
                       .seed = std::stoull(std::getenv(sim::verbs::kSeedVariable)),
                       .profile = &ProfileInUse(),
                       .zone = zone});
  if (!host.ok()) std::abort();
  return *std::move(host);
}

// Of its first NIC.
ibv_gid GidOf(sim::Host& host) {
  const std::lock_guard lock(host.mutex());
  ibv_gid gid{};
  const sim::Gid& first = host.node().nic(0).gid();
  std::copy(first.begin(), first.end(), gid.raw);
  return gid;
}

TEST_F(ObjectsTest, ARegion) {
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

TEST_F(ObjectsTest, RegionsThatAreRefused) {
  EXPECT_EQ(Registering(end_.at(0), 1), 0);
  EXPECT_EQ(Registering(end_.at(0), 0), EINVAL);
  EXPECT_EQ(Registering(reinterpret_cast<void*>(~std::uintptr_t{0} - 10), 100), EINVAL);
  EXPECT_EQ(Registering(end_.at(0), 1, IBV_ACCESS_REMOTE_ATOMIC), EOPNOTSUPP);
  EXPECT_EQ(Registering(end_.at(0), 1, IBV_ACCESS_ON_DEMAND), EOPNOTSUPP);
  EXPECT_EQ(Registering(end_.at(0), 1, IBV_ACCESS_RELAXED_ORDERING), 0);  // a hint
  errno = 0;
  EXPECT_EQ(ibv_reg_mr_iova(end_.domain, end_.at(0), 64, /*iova=*/0, kLocalWrite), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST_F(ObjectsTest, RightsThatTheDeviceDoesNotHave) {
  const DeviceAttributes& device = Device();
  EXPECT_EQ(Registering(end_.at(0), 64, IBV_ACCESS_REMOTE_READ), device.rdma_read ? 0 : EOPNOTSUPP);
  EXPECT_EQ(Registering(end_.at(0), 64, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
            device.rdma_write ? 0 : EOPNOTSUPP);
}

TEST_F(ObjectsTest, MemoryThatIsNotThere) {
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
TEST_F(ObjectsTest, RightsThatThePagesDoNotHave) {
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

TEST_F(ObjectsTest, MemoryBehindADescriptor) {
  const int fd = memfd_create("device", MFD_CLOEXEC);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(ftruncate(fd, 1 << 16), 0);
  void* mapped = mmap(nullptr, 1 << 16, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  const auto iova = reinterpret_cast<std::uint64_t>(mapped);
  ibv_mr* region = ibv_reg_dmabuf_mr(end_.domain, 0, 1 << 16, iova, fd, IBV_ACCESS_LOCAL_WRITE);
  ASSERT_NE(region, nullptr) << std::strerror(errno);
  EXPECT_EQ(ibv_dereg_mr(region), 0);
  munmap(mapped, 1 << 16);
  // The host cannot reach it any more.
  EXPECT_EQ(ibv_reg_dmabuf_mr(end_.domain, 0, 1 << 16, iova, fd, IBV_ACCESS_LOCAL_WRITE), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  close(fd);
  EXPECT_EQ(ibv_reg_dmabuf_mr(end_.domain, 0, 64, end_.address(0), fd, IBV_ACCESS_LOCAL_WRITE),
            nullptr);
  EXPECT_EQ(errno, EBADF);
}

TEST_F(ObjectsTest, AllRegionsThatADeviceHas) {
  if (Device().max_mr > 10000) GTEST_SKIP() << "too many to make";
  const std::size_t made = MakeMany<ibv_mr>(
      Device().max_mr + 1, [&] { return ibv_reg_mr(end_.domain, end_.at(0), 8, kLocalWrite); },
      ibv_dereg_mr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(made, Device().max_mr - 1);  // one is the end's own
  EXPECT_EQ(Registering(end_.at(0), 8), 0);
}

TEST_F(ObjectsTest, AllProtectionDomains) {
  const std::size_t made = MakeMany<ibv_pd>(
      Device().max_pd + 1, [&] { return ibv_alloc_pd(end_.context); }, ibv_dealloc_pd);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(made, Device().max_pd - 1);
}

TEST_F(ObjectsTest, AProtectionDomainInUse) {
  ibv_pd* domain = ibv_alloc_pd(end_.context);
  ASSERT_NE(domain, nullptr);
  ibv_mr* region = ibv_reg_mr(domain, end_.at(0), 8, kLocalWrite);
  ASSERT_NE(region, nullptr);
  EXPECT_EQ(ibv_dealloc_pd(domain), EBUSY);
  EXPECT_EQ(ibv_dereg_mr(region), 0);

  ibv_ah_attr attr{};
  attr.is_global = 1;
  attr.port_num = 1;
  attr.grh.dgid = end_.gid;
  ibv_ah* handle = ibv_create_ah(domain, &attr);
  ASSERT_NE(handle, nullptr);
  EXPECT_EQ(ibv_dealloc_pd(domain), EBUSY);
  EXPECT_EQ(ibv_destroy_ah(handle), 0);

  ibv_qp* queue_pair =
      MakeQueuePair(end_.context, QueuePairAttributes(domain, end_.send_queue, end_.receive_queue));
  ASSERT_NE(queue_pair, nullptr);
  EXPECT_EQ(ibv_dealloc_pd(domain), EBUSY);
  EXPECT_EQ(ibv_destroy_qp(queue_pair), 0);
  EXPECT_EQ(ibv_dealloc_pd(domain), 0);
}

// A parent's open objects are no child's; the child may open devices of its own.
TEST_F(ObjectsTest, AParentDomainStandsForItsProtectionDomain) {
  ibv_td_init_attr thread_attr{};
  ibv_td* thread = ibv_alloc_td(end_.context, &thread_attr);
  ASSERT_NE(thread, nullptr);
  EXPECT_EQ(thread->context, end_.context);
  ibv_pd* protection = ibv_alloc_pd(end_.context);
  ibv_parent_domain_init_attr attr{};
  errno = 0;
  EXPECT_EQ(ibv_alloc_parent_domain(end_.context, &attr), nullptr);
  EXPECT_EQ(errno, EINVAL);
  attr.pd = protection;
  attr.td = thread;
  ibv_pd* parent = ibv_alloc_parent_domain(end_.context, &attr);
  ASSERT_NE(parent, nullptr);

  // Objects that are made with one can be used with those that are made with the other.
  ibv_mr* region = ibv_reg_mr(parent, end_.at(0), 64, kLocalWrite);
  ASSERT_NE(region, nullptr);
  ibv_cq_init_attr_ex queue_attr{};
  queue_attr.cqe = 16;
  queue_attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;
  queue_attr.parent_domain = parent;
  ibv_cq_ex* queue = ibv_create_cq_ex(end_.context, &queue_attr);
  ASSERT_NE(queue, nullptr);
  ibv_qp* queue_pair =
      MakeQueuePair(end_.context, QueuePairAttributes(parent, queue, end_.receive_queue));
  ASSERT_NE(queue_pair, nullptr);
  EXPECT_EQ(queue_pair->pd, parent);

  EXPECT_EQ(ibv_dealloc_td(thread), EBUSY);
  EXPECT_EQ(ibv_dealloc_pd(protection), EBUSY);
  EXPECT_EQ(ibv_dealloc_pd(parent), EBUSY);
  EXPECT_EQ(ibv_destroy_qp(queue_pair), 0);
  EXPECT_EQ(ibv_dereg_mr(region), 0);
  EXPECT_EQ(ibv_dealloc_pd(parent), EBUSY);  // the queue's
  EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(queue)), 0);
  EXPECT_EQ(ibv_dealloc_pd(parent), 0);
  EXPECT_EQ(ibv_dealloc_td(thread), 0);
  EXPECT_EQ(ibv_dealloc_pd(protection), 0);
}

TEST_F(ObjectsTest, ParentDomainsThatAreRefused) {
  ibv_parent_domain_init_attr attr{};
  attr.pd = end_.domain;
  attr.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS;
  errno = 0;
  EXPECT_EQ(ibv_alloc_parent_domain(end_.context, &attr), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  ibv_td_init_attr thread_attr{.comp_mask = 1};
  EXPECT_EQ(ibv_alloc_td(end_.context, &thread_attr), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

// NCCL takes its faster protocol where blocks of 128 bytes land in order.
TEST_F(ObjectsTest, WhatLandsInOrder) {
  using sim::verbs::kInOrderAligned128;
  const auto caps = [&](ibv_wr_opcode operation) {
    return ibv_query_qp_data_in_order(end_.queue_pair, operation, sim::verbs::kInOrderReturnCaps);
  };
  const DeviceAttributes& device = Device();
  const int block = kInOrderAligned128;
  EXPECT_EQ(caps(IBV_WR_RDMA_WRITE),
            device.write_in_order_128 || device.data_polling_128 ? block : 0);
  EXPECT_EQ(caps(IBV_WR_SEND), device.send_in_order_128 || device.data_polling_128 ? block : 0);
  EXPECT_EQ(ibv_query_qp_data_in_order(end_.queue_pair, IBV_WR_RDMA_WRITE, 0), 0);
}

TEST_F(ObjectsTest, AForkedChildIsAnotherMachine) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ibv_context* context = OpenDevice(0);
    ibv_gid gid{};
    const bool opened = context != nullptr && ibv_query_gid(context, 1, 0, &gid) == 0;
    const bool another = std::memcmp(gid.raw, end_.gid.raw, sizeof gid.raw) != 0;
    _exit(opened && another ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

// As libfabric does at the end of every process that has loaded it: nothing is waited for, and the
// parent still has what it had.
TEST_F(ObjectsTest, AForkedChildCannotEndItsParentsObjects) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto refused = [](int result) { return result == EBUSY; };
    _exit(refused(ibv_destroy_qp(end_.queue_pair)) && refused(ibv_dereg_mr(end_.region)) &&
                  refused(ibv_dealloc_pd(end_.domain)) && refused(ibv_close_device(end_.context))
              ? 0
              : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

// ---- Address handles ----

TEST_F(ObjectsTest, AddressHandles) {
  ibv_ah_attr attr{};
  attr.is_global = 1;
  attr.port_num = 1;
  attr.grh.dgid = end_.gid;
  ibv_ah* one = ibv_create_ah(end_.domain, &attr);
  ibv_ah* same = ibv_create_ah(end_.domain, &attr);
  const auto another = Join();
  attr.grh.dgid = GidOf(*another);
  ibv_ah* other = ibv_create_ah(end_.domain, &attr);
  ASSERT_NE(one, nullptr);
  ASSERT_NE(same, nullptr);
  ASSERT_NE(other, nullptr);
  // The device has one for each GID of a domain.
  EXPECT_EQ(End::NumberOf(one), End::NumberOf(same));
  EXPECT_NE(End::NumberOf(one), End::NumberOf(other));
  for (ibv_ah* handle : {one, same, other}) EXPECT_EQ(ibv_destroy_ah(handle), 0);

  attr.grh.dgid = end_.gid;
  attr.is_global = 0;
  errno = 0;
  EXPECT_EQ(ibv_create_ah(end_.domain, &attr), nullptr);
  EXPECT_EQ(errno, EINVAL);
  attr.is_global = 1;
  attr.port_num = 2;
  errno = 0;
  EXPECT_EQ(ibv_create_ah(end_.domain, &attr), nullptr);
  EXPECT_EQ(errno, EINVAL);
  attr.port_num = 1;
  attr.grh.sgid_index = 1;  // a NIC has one GID
  errno = 0;
  EXPECT_EQ(ibv_create_ah(end_.domain, &attr), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(ObjectsTest, AHandleOfNobodyIsRefused) {
  EXPECT_EQ(Addressing(end_.gid), 0);
  ibv_gid nobody = end_.gid;
  nobody.raw[15] = 0xff;  // no NIC of this machine
  EXPECT_EQ(Addressing(nobody), EINVAL);
  nobody = end_.gid;
  nobody.raw[14] = 0xfe;  // a machine that never was
  EXPECT_EQ(Addressing(nobody), EINVAL);
  nobody = end_.gid;
  nobody.raw[8] ^= 1;  // another network
  EXPECT_EQ(Addressing(nobody), EINVAL);
  EXPECT_EQ(Addressing(ibv_gid{}), EINVAL);
  // One that was there has its GID still.
  auto machine = Join();
  const ibv_gid gone = GidOf(*machine);
  machine.reset();
  EXPECT_EQ(Addressing(gone), 0);
}

TEST_F(ObjectsTest, AHandleInAnotherAvailabilityZoneIsRefused) {
  auto machine = Join(/*zone=*/1);
  const ibv_gid gid = GidOf(*machine);
  EXPECT_EQ(Addressing(gid), EINVAL);
  // Its successor, with its GID, may be in our zone.
  machine.reset();
  machine = Join();
  const ibv_gid successor = GidOf(*machine);
  ASSERT_EQ(std::memcmp(gid.raw, successor.raw, sizeof gid.raw), 0);
  EXPECT_EQ(Addressing(successor), 0);
}

TEST_F(ObjectsTest, TheNumberOfAHandle) {
  ibv_ah* handle = end_.HandleOf(end_);
  constexpr std::uint32_t kShortest = offsetof(efadv_ah_attr, reserved);
  for (std::uint32_t length = 0; length <= sizeof(efadv_ah_attr) + 8; ++length) {
    std::array<std::uint8_t, sizeof(efadv_ah_attr) + 16> bytes;
    bytes.fill(0xee);
    auto* attr = reinterpret_cast<efadv_ah_attr*>(bytes.data());
    const int error = efadv_query_ah(handle, attr, length);
    EXPECT_EQ(error, length < kShortest ? EINVAL : 0) << length;
    EXPECT_TRUE(std::all_of(bytes.begin() + length, bytes.end(), [](int b) { return b == 0xee; }));
    if (error == 0) {
      EXPECT_EQ(attr->comp_mask, 0u);
    }
    if (error == 0) {
      EXPECT_EQ(attr->ahn, End::NumberOf(handle));
    }
  }
}

// One in each domain for each NIC of two machines, until there are no more.
TEST_F(ObjectsTest, AllAddressHandles) {
  const std::size_t nics = ProfileInUse().nics.size();
  std::vector<ibv_gid> machines{end_.gid};
  std::vector<decltype(Join())> others;
  while (machines.size() * nics * Device().max_pd <= Device().max_ah) {
    others.push_back(Join());
    machines.push_back(GidOf(*others.back()));
  }
  std::vector<ibv_gid> gids;
  for (const ibv_gid& machine : machines) {
    for (std::size_t nic = 0; nic < nics; ++nic) {
      gids.push_back(machine);
      gids.back().raw[15] = static_cast<std::uint8_t>(nic);
    }
  }
  std::vector<ibv_pd*> domains{end_.domain};
  while (domains.size() < Device().max_pd) domains.push_back(ibv_alloc_pd(end_.context));
  std::size_t next = 0;
  const std::size_t made = MakeMany<ibv_ah>(
      Device().max_ah + 1,
      [&] {
        ibv_ah_attr attr{};
        attr.is_global = 1;
        attr.port_num = 1;
        attr.grh.dgid = gids.at(next / domains.size());
        return ibv_create_ah(domains[next++ % domains.size()], &attr);
      },
      ibv_destroy_ah);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(made, Device().max_ah);
  for (std::size_t i = 1; i < domains.size(); ++i) EXPECT_EQ(ibv_dealloc_pd(domains[i]), 0);
}

// ---- Completion queues ----

TEST_F(ObjectsTest, TheDepthOfACompletionQueue) {
  for (const std::uint32_t asked : {1u, 2u, 3u, 100u, Device().max_cq_depth}) {
    ibv_cq_ex* queue = MakeQueue(end_.context, asked);
    ASSERT_NE(queue, nullptr) << asked;
    EXPECT_EQ(queue->cqe, static_cast<int>(std::bit_ceil(asked)));
    EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(queue)), 0);
  }
  for (const std::uint32_t asked : {0u, Device().max_cq_depth + 1, UINT32_MAX}) {
    errno = 0;
    EXPECT_EQ(MakeQueue(end_.context, asked), nullptr) << asked;
    EXPECT_EQ(errno, EINVAL) << asked;
  }
}

TEST_F(ObjectsTest, CompletionQueuesThatAreRefused) {
  struct Case {
    const char* what;
    int error;
    std::function<void(ibv_cq_init_attr_ex&, efadv_cq_init_attr&, std::uint32_t&)> change;
  };
  const std::vector<Case> cases = {
      {"as it is", 0, [](auto&, auto&, auto&) {}},
      {"flags that nobody knows", EOPNOTSUPP,
       [](auto& attr, auto&, auto&) { attr.wc_flags = 1ull << 40; }},
      {"time stamps", EOPNOTSUPP,
       [](auto& attr, auto&, auto&) { attr.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP; }},
      {"members that nobody knows", EOPNOTSUPP,
       [](auto& attr, auto&, auto&) { attr.comp_mask = 1u << 7; }},
      {"one thread", 0,
       [](auto& attr, auto&, auto&) {
         attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
         attr.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
       }},
      {"entries that may be lost", EOPNOTSUPP,
       [](auto& attr, auto&, auto&) {
         attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
         attr.flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
       }},
      {"a domain that is no parent", EINVAL,
       [&](auto& attr, auto&, auto&) {
         attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;
         attr.parent_domain = end_.domain;
       }},
      {"flags of EFA that nobody knows", EOPNOTSUPP,
       [](auto&, auto& efa, auto&) { efa.wc_flags = 1ull << 5; }},
      {"extensions of EFA", EINVAL, [](auto&, auto& efa, auto&) { efa.comp_mask = 1; }},
      {"a structure that is too short", EINVAL,  // the first release had a mask and flags
       [](auto&, auto&, auto& length) { length = 2 * sizeof(std::uint64_t) - 1; }},
      {"a vector that there is not, without a channel", EINVAL,
       [](auto& attr, auto&, auto&) { attr.comp_vector = 5000; }},
  };
  for (const Case& test : cases) {
    ibv_cq_init_attr_ex attr{};
    attr.cqe = 16;
    efadv_cq_init_attr efa{};
    std::uint32_t length = sizeof efa;
    test.change(attr, efa, length);
    errno = 0;
    ibv_cq_ex* queue = efadv_create_cq(end_.context, &attr, &efa, length);
    EXPECT_EQ(queue == nullptr ? errno : 0, test.error) << test.what;
    if (queue != nullptr) {
      EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(queue)), 0);
    }
  }
}

TEST_F(ObjectsTest, ACompletionQueueInUse) {
  EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(end_.send_queue)), EBUSY);
  EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(end_.receive_queue)), EBUSY);
  EXPECT_EQ(ibv_destroy_qp(end_.queue_pair), 0);
  end_.queue_pair = nullptr;
  EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(end_.send_queue)), 0);
  end_.send_queue = nullptr;
}

TEST_F(ObjectsTest, AllCompletionQueues) {
  const std::size_t made = MakeMany<ibv_cq>(
      Device().max_cq + 1, [&] { return ibv_create_cq(end_.context, 8, nullptr, nullptr, 0); },
      ibv_destroy_cq);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(made, Device().max_cq - 2);  // two are the end's own
}

// ---- Queue pairs ----

TEST_F(ObjectsTest, QueuePairsThatAreRefused) {
  const sim::Profile& profile = ProfileInUse();
  const DeviceAttributes& device = Device();
  const bool has_wide = device.inline_buf_size_ex > device.inline_buf_size;
  // A work request of 128 bytes takes the room of two.
  const auto longest_wide = static_cast<std::uint32_t>(sim::MaxSendQueueDepth(profile, 128));
  using Attr = ibv_qp_init_attr_ex;
  struct Case {
    const char* what;
    int error;
    std::function<void(Attr&, sim::verbs::QpInitAttr&, std::uint32_t&)> change;
  };
  const std::vector<Case> cases = {
      {"as it is", 0, [](auto&, auto&, auto&) {}},
      {"the longest queues", 0,
       [&](Attr& a, auto&, auto&) {
         a.cap.max_send_wr = static_cast<std::uint32_t>(sim::MaxSendQueueDepth(profile, 64));
         a.cap.max_recv_wr = device.max_rq_depth;
         a.cap.max_recv_sge = 1;
       }},
      {"sends", EINVAL,
       [&](Attr& a, auto&, auto&) { a.cap.max_send_wr = device.max_sq_depth + 1; }},
      {"as many wide sends as there can be", 0,
       [&](Attr& a, auto&, auto&) {
         a.cap.max_send_wr = longest_wide;
         a.cap.max_inline_data = static_cast<std::uint32_t>(sim::MaxInlineBytes(profile));
       }},
      {"more wide sends", has_wide ? EINVAL : 0,
       [&](Attr& a, auto&, auto&) {
         a.cap.max_send_wr = longest_wide + 1;
         a.cap.max_inline_data = static_cast<std::uint32_t>(sim::MaxInlineBytes(profile));
       }},
      {"inline writes", has_wide ? 0 : EOPNOTSUPP,
       [](Attr&, auto& efa, auto&) { efa.flags = sim::verbs::kQpInlineWrite; }},
      {"more inline writes", has_wide ? EINVAL : EOPNOTSUPP,
       [&](Attr& a, auto& efa, auto&) {
         efa.flags = sim::verbs::kQpInlineWrite;
         a.cap.max_send_wr = longest_wide + 1;
       }},
      {"receives", EINVAL,
       [&](Attr& a, auto&, auto&) {
         a.cap.max_recv_sge = 1;
         a.cap.max_recv_wr = device.max_rq_depth + 1;
       }},
      {"descriptors", EINVAL,
       [&](Attr& a, auto&, auto&) {
         a.cap.max_recv_sge = 2;
         a.cap.max_recv_wr = device.max_rq_depth / 2 + 1;
       }},
      {"segments of a send", EINVAL, [](Attr& a, auto&, auto&) { a.cap.max_send_sge = 3; }},
      {"segments of a receive", EINVAL, [](Attr& a, auto&, auto&) { a.cap.max_recv_sge = 4; }},
      {"inline bytes", EINVAL,
       [](Attr& a, auto&, auto&) {
         a.cap.max_inline_data =
             static_cast<std::uint32_t>(sim::MaxInlineBytes(ProfileInUse())) + 1;
       }},
      {"no domain", EINVAL, [](Attr& a, auto&, auto&) { a.pd = nullptr; }},
      {"no domain is named", EINVAL,
       [](Attr& a, auto&, auto&) { a.comp_mask = IBV_QP_INIT_ATTR_SEND_OPS_FLAGS; }},
      {"no queue for sends", EINVAL, [](Attr& a, auto&, auto&) { a.send_cq = nullptr; }},
      {"no queue for receives", EINVAL, [](Attr& a, auto&, auto&) { a.recv_cq = nullptr; }},
      {"another type", EINVAL, [](Attr& a, auto&, auto&) { a.qp_type = IBV_QPT_RC; }},
      {"atomics", EOPNOTSUPP,
       [](Attr& a, auto&, auto&) { a.send_ops_flags |= IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP; }},
      {"extensions", EOPNOTSUPP,
       [](Attr& a, auto&, auto&) { a.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS; }},
      {"another type of driver", EOPNOTSUPP,
       [](Attr&, auto& efa, auto&) { efa.driver_qp_type = 7; }},
      {"settings that nobody knows", EOPNOTSUPP, [](Attr&, auto& efa, auto&) { efa.wr_flags = 2; }},
      {"hints", 0,
       [](Attr&, auto& efa, auto&) { efa.wr_flags = sim::verbs::kWrWithProcessingHints; }},
      {"the structure before there were hints", 0,
       [](Attr&, auto& efa, auto& length) {
         efa.wr_flags = ~0ull;
         length = 16;
       }},
      {"flags that nobody knows", EOPNOTSUPP, [](Attr&, auto& efa, auto&) { efa.flags = 0x80; }},
      {"extensions of EFA", EINVAL, [](Attr&, auto& efa, auto&) { efa.comp_mask = 1; }},
      {"a byte that means nothing", EINVAL, [](Attr&, auto& efa, auto&) { efa.reserved[0] = 1; }},
      {"a structure that is too short", EINVAL, [](Attr&, auto&, auto& length) { length = 11; }},
      {"the shortest structure", 0, [](Attr&, auto&, auto& length) { length = 12; }},
  };
  for (const Case& test : cases) {
    Attr attr = QueuePairAttributes(end_.domain, end_.send_queue, end_.receive_queue);
    sim::verbs::QpInitAttr efa{};
    efa.driver_qp_type = EFADV_QP_DRIVER_TYPE_SRD;
    std::uint32_t length = sizeof efa;
    test.change(attr, efa, length);
    errno = 0;
    ibv_qp* made = efadv_create_qp_ex(end_.context, &attr,
                                      reinterpret_cast<efadv_qp_init_attr*>(&efa), length);
    EXPECT_EQ(made == nullptr ? errno : 0, test.error) << test.what;
    if (made != nullptr) {
      EXPECT_EQ(ibv_destroy_qp(made), 0);
    }
  }
}

// A program that was built against a later release has longer structures: fine as long as it asks
// for nothing with them.
TEST_F(ObjectsTest, StructuresOfLaterReleases) {
  for (const std::uint8_t last : {0, 1}) {
    alignas(8) std::array<std::uint8_t, 72> bytes{};
    bytes[64] = last;
    errno = 0;
    ibv_cq_init_attr_ex queue_attr{};
    queue_attr.cqe = 16;
    ibv_cq_ex* queue =
        efadv_create_cq(end_.context, &queue_attr,
                        reinterpret_cast<efadv_cq_init_attr*>(bytes.data()), bytes.size());
    EXPECT_EQ(queue == nullptr ? errno : 0, last == 0 ? 0 : EINVAL);
    errno = 0;
    ibv_qp_init_attr_ex attr =
        QueuePairAttributes(end_.domain, end_.send_queue, end_.receive_queue);
    ibv_qp* made = efadv_create_qp_ex(
        end_.context, &attr, reinterpret_cast<efadv_qp_init_attr*>(bytes.data()), bytes.size());
    EXPECT_EQ(made == nullptr ? errno : 0, last == 0 ? 0 : EINVAL);
    if (queue != nullptr) {
      EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(queue)), 0);
    }
    if (made != nullptr) {
      EXPECT_EQ(ibv_destroy_qp(made), 0);
    }
  }
}

TEST_F(ObjectsTest, WhatAQueuePairHas) {
  ibv_qp_init_attr_ex attr = QueuePairAttributes(end_.domain, end_.send_queue, end_.receive_queue,
                                                 {.sends = 1, .receives = 5, .inline_bytes = 1});
  attr.qp_context = this;
  efadv_qp_init_attr efa{};
  efa.driver_qp_type = EFADV_QP_DRIVER_TYPE_SRD;
  ibv_qp* made = efadv_create_qp_ex(end_.context, &attr, &efa, sizeof efa);
  ASSERT_NE(made, nullptr);
  // A program is told its sizes: at least those that it asked for.
  EXPECT_EQ(attr.cap.max_send_wr, Device().min_sq_depth);
  EXPECT_GE(attr.cap.max_recv_wr, 5u);
  // But for inline data, of which a request has room for more than the library takes.
  EXPECT_EQ(attr.cap.max_inline_data, 1u);
  EXPECT_EQ(made->state, IBV_QPS_RESET);
  ASSERT_EQ(MakeReady(made, /*rnr_retry=*/3), 0);
  ibv_qp_attr now{};
  ibv_qp_init_attr init{};
  ASSERT_EQ(ibv_query_qp(made, &now, IBV_QP_STATE, &init), 0);
  EXPECT_EQ(now.qp_state, IBV_QPS_RTS);
  EXPECT_EQ(now.qkey, End::kQkey);
  EXPECT_EQ(now.rnr_retry, 3);
  EXPECT_EQ(now.cap.max_send_wr, attr.cap.max_send_wr);
  EXPECT_EQ(init.qp_context, this);
  EXPECT_EQ(init.send_cq, attr.send_cq);
  EXPECT_EQ(ibv_query_qp(made, &now, IBV_QP_STATE | IBV_QP_AV, &init), EOPNOTSUPP);
  ASSERT_EQ(Move(made, IBV_QPS_RESET), 0);
  ASSERT_EQ(Move(made, IBV_QPS_INIT), 0);
  ASSERT_EQ(Move(made, IBV_QPS_RTR), 0);
  now.qp_state = IBV_QPS_RTS;
  now.sq_psn = 12345;
  ASSERT_EQ(ibv_modify_qp(made, &now, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
  ASSERT_EQ(ibv_query_qp(made, &now, IBV_QP_SQ_PSN, &init), 0);
  EXPECT_EQ(now.sq_psn, 12345u);
  EXPECT_EQ(ibv_destroy_qp(made), 0);
}

TEST_F(ObjectsTest, MoreRetriesThanThereAre) {
  EXPECT_EQ(MakeReady(end_.queue_pair, /*rnr_retry=*/8), EOPNOTSUPP);
  EXPECT_EQ(end_.queue_pair->state, IBV_QPS_RTR);
}

// A program has the functions that it asked for; the others are null, as in libefa.
TEST_F(ObjectsTest, FunctionsThatWereNotAskedFor) {
  ibv_cq_init_attr_ex queue_attr{};
  queue_attr.cqe = 16;
  queue_attr.wc_flags = IBV_WC_EX_WITH_BYTE_LEN;
  efadv_cq_init_attr efa{};
  ibv_cq_ex* queue = efadv_create_cq(end_.context, &queue_attr, &efa, sizeof efa);
  ASSERT_NE(queue, nullptr);
  EXPECT_NE(queue->read_opcode, nullptr);
  EXPECT_NE(queue->read_vendor_err, nullptr);
  EXPECT_NE(queue->read_wc_flags, nullptr);
  EXPECT_NE(queue->read_byte_len, nullptr);
  EXPECT_EQ(queue->read_imm_data, nullptr);
  EXPECT_EQ(queue->read_qp_num, nullptr);
  EXPECT_EQ(queue->read_src_qp, nullptr);
  EXPECT_EQ(queue->read_slid, nullptr);
  EXPECT_EQ(queue->read_sl, nullptr);
  EXPECT_EQ(queue->read_dlid_path_bits, nullptr);
  EXPECT_EQ(efadv_cq_from_ibv_cq_ex(queue)->wc_read_sgid, nullptr);
  EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(queue)), 0);

  EXPECT_EQ(ibv_qp_to_qp_ex(end_.queue_pair), end_.extended);
  ibv_qp_init_attr_ex attr = QueuePairAttributes(end_.domain, end_.send_queue, end_.receive_queue);
  attr.comp_mask = IBV_QP_INIT_ATTR_PD;
  ibv_qp* plain = MakeQueuePair(end_.context, attr);
  ASSERT_NE(plain, nullptr);
  EXPECT_EQ(ibv_qp_to_qp_ex(plain), nullptr);
  EXPECT_EQ(ibv_destroy_qp(plain), 0);
}

// Inline data of a request: as much as the program asked for when it made the queue pair.
TEST_F(ObjectsTest, InlineDataThatWasNotAskedFor) {
  End end({.inline_bytes = 8});
  ibv_sge segment = end.Segment(0, 9);
  ibv_send_wr request{};
  request.sg_list = &segment;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  request.send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED;
  request.wr.ud = {.ah = end.HandleOf(end), .remote_qpn = end.queue_pair->qp_num, .remote_qkey = 1};
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_send(end.queue_pair, &request, &bad), EINVAL);
  segment.length = 8;
  EXPECT_EQ(ibv_post_send(end.queue_pair, &request, &bad), 0);
}

TEST_F(ObjectsTest, TheOlderWaysToAQueuePair) {
  ibv_qp_init_attr attr{};
  attr.send_cq = ibv_cq_ex_to_cq(end_.send_queue);
  attr.recv_cq = ibv_cq_ex_to_cq(end_.receive_queue);
  attr.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1};
  attr.qp_type = IBV_QPT_DRIVER;
  ibv_qp* driver = efadv_create_driver_qp(end_.domain, &attr, EFADV_QP_DRIVER_TYPE_SRD);
  ASSERT_NE(driver, nullptr);
  EXPECT_EQ(attr.cap.max_send_wr, Device().min_sq_depth);
  EXPECT_EQ(ibv_destroy_qp(driver), 0);
  EXPECT_EQ(ibv_create_qp(end_.domain, &attr), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  attr.qp_type = IBV_QPT_UD;
  ibv_qp* datagram = ibv_create_qp(end_.domain, &attr);
  ASSERT_NE(datagram, nullptr);
  EXPECT_EQ(ibv_destroy_qp(datagram), 0);
  EXPECT_EQ(efadv_create_driver_qp(end_.domain, &attr, EFADV_QP_DRIVER_TYPE_SRD), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(ObjectsTest, AllQueuePairs) {
  const std::size_t made = MakeMany<ibv_qp>(
      Device().max_qp + 1,
      [&] {
        return MakeQueuePair(end_.context,
                             QueuePairAttributes(end_.domain, end_.send_queue, end_.receive_queue));
      },
      ibv_destroy_qp);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(made, Device().max_qp - 1);
}

// ---- States ----

// The moves from RESET to each state that a program can bring about.
const std::vector<std::vector<ibv_qp_state>>& Ways() {
  static const auto& ways = *new std::vector<std::vector<ibv_qp_state>>{
      {},
      {IBV_QPS_INIT},
      {IBV_QPS_INIT, IBV_QPS_RTR},
      {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS},
      {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQD},
      {IBV_QPS_INIT, IBV_QPS_ERR},
  };
  return ways;
}

// linux-rdma drivers/infiniband/hw/efa/efa_verbs.c, srd_qp_state_table.
bool MayMove(ibv_qp_state from, ibv_qp_state to) {
  static const auto& table = *new std::set<std::pair<ibv_qp_state, ibv_qp_state>>{
      {IBV_QPS_RESET, IBV_QPS_RESET}, {IBV_QPS_RESET, IBV_QPS_INIT}, {IBV_QPS_INIT, IBV_QPS_RESET},
      {IBV_QPS_INIT, IBV_QPS_ERR},    {IBV_QPS_INIT, IBV_QPS_INIT},  {IBV_QPS_INIT, IBV_QPS_RTR},
      {IBV_QPS_RTR, IBV_QPS_RESET},   {IBV_QPS_RTR, IBV_QPS_ERR},    {IBV_QPS_RTR, IBV_QPS_RTS},
      {IBV_QPS_RTS, IBV_QPS_RESET},   {IBV_QPS_RTS, IBV_QPS_ERR},    {IBV_QPS_RTS, IBV_QPS_RTS},
      {IBV_QPS_RTS, IBV_QPS_SQD},     {IBV_QPS_SQD, IBV_QPS_RESET},  {IBV_QPS_SQD, IBV_QPS_ERR},
      {IBV_QPS_SQD, IBV_QPS_RTS},     {IBV_QPS_SQD, IBV_QPS_SQD},    {IBV_QPS_ERR, IBV_QPS_RESET},
      {IBV_QPS_ERR, IBV_QPS_ERR},
  };
  return table.contains({from, to});
}

TEST_F(ObjectsTest, EveryMoveFromEveryState) {
  for (const std::vector<ibv_qp_state>& way : Ways()) {
    for (const ibv_qp_state to : {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS,
                                  IBV_QPS_SQD, IBV_QPS_SQE, IBV_QPS_ERR}) {
      ibv_qp* made = MakeQueuePair(
          end_.context, QueuePairAttributes(end_.domain, end_.send_queue, end_.receive_queue));
      ASSERT_NE(made, nullptr);
      for (const ibv_qp_state state : way) ASSERT_EQ(Move(made, state), 0);
      const ibv_qp_state from = made->state;
      const bool legal = MayMove(from, to);
      EXPECT_EQ(Move(made, to), legal ? 0 : EINVAL) << from << " to " << to;
      EXPECT_EQ(made->state, legal ? to : from) << from << " to " << to;
      EXPECT_EQ(ibv_destroy_qp(made), 0);
    }
  }
}

TEST_F(ObjectsTest, WhatAMoveNeeds) {
  ibv_qp_attr attr{};
  attr.port_num = 1;
  attr.qp_state = IBV_QPS_INIT;
  constexpr int kAll = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
  for (const int missing : {IBV_QP_PKEY_INDEX, IBV_QP_PORT, IBV_QP_QKEY}) {
    EXPECT_EQ(ibv_modify_qp(end_.queue_pair, &attr, kAll & ~missing), EINVAL) << missing;
  }
  ASSERT_EQ(Move(end_.queue_pair, IBV_QPS_INIT), 0);
  ASSERT_EQ(Move(end_.queue_pair, IBV_QPS_RTR), 0);
  attr.qp_state = IBV_QPS_RTS;
  EXPECT_EQ(ibv_modify_qp(end_.queue_pair, &attr, IBV_QP_STATE), EINVAL);
  EXPECT_EQ(Move(end_.queue_pair, IBV_QPS_RTS), 0);
}

// Each move takes its own attributes and no others. A call without a state is a move to the same.
TEST_F(ObjectsTest, WhatAMoveDoesNotTake) {
  ibv_qp* const pair = end_.queue_pair;
  ibv_qp_attr attr{};
  attr.port_num = 1;
  attr.qkey = End::kQkey;
  const auto modify = [&](ibv_qp_state to, int mask) {
    attr.qp_state = to;
    attr.cur_qp_state = pair->state;
    return ibv_modify_qp(pair, &attr, mask | IBV_QP_STATE);
  };
  constexpr int kIdentity = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
  // What other kinds of queue pairs have.
  for (const int other : {IBV_QP_ACCESS_FLAGS, IBV_QP_AV, IBV_QP_DEST_QPN, IBV_QP_TIMEOUT}) {
    EXPECT_EQ(modify(IBV_QPS_INIT, kIdentity | other), EOPNOTSUPP) << other;
  }
  attr.port_num = 2;
  EXPECT_EQ(modify(IBV_QPS_INIT, kIdentity), EINVAL);
  attr.port_num = 1;
  attr.pkey_index = 1;
  EXPECT_EQ(modify(IBV_QPS_INIT, kIdentity), EOPNOTSUPP);
  attr.pkey_index = 0;
  EXPECT_EQ(modify(IBV_QPS_INIT, kIdentity | IBV_QP_SQ_PSN), EINVAL);
  ASSERT_EQ(modify(IBV_QPS_INIT, kIdentity), 0);
  EXPECT_EQ(ibv_modify_qp(pair, &attr, IBV_QP_QKEY), 0);
  EXPECT_EQ(modify(IBV_QPS_RTR, IBV_QP_RNR_RETRY), EINVAL);
  ASSERT_EQ(modify(IBV_QPS_RTR, IBV_QP_QKEY), 0);
  EXPECT_EQ(ibv_modify_qp(pair, &attr, IBV_QP_QKEY), EINVAL);
  EXPECT_EQ(modify(IBV_QPS_RTS, IBV_QP_SQ_PSN | IBV_QP_PORT), EINVAL);
  ASSERT_EQ(modify(IBV_QPS_RTS, IBV_QP_SQ_PSN | IBV_QP_CUR_STATE), 0);
  EXPECT_EQ(ibv_modify_qp(pair, &attr, IBV_QP_RNR_RETRY), EINVAL);
  attr.cur_qp_state = IBV_QPS_SQD;
  EXPECT_EQ(ibv_modify_qp(pair, &attr, IBV_QP_CUR_STATE | IBV_QP_QKEY), EINVAL);
  EXPECT_EQ(modify(IBV_QPS_ERR, IBV_QP_QKEY), EINVAL);
  EXPECT_EQ(pair->state, IBV_QPS_RTS);
}

// The retries are SRD's.
TEST_F(ObjectsTest, ADatagramQueuePairHasNoRetries) {
  ibv_qp_init_attr attr{};
  attr.send_cq = ibv_cq_ex_to_cq(end_.send_queue);
  attr.recv_cq = ibv_cq_ex_to_cq(end_.receive_queue);
  attr.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1};
  attr.qp_type = IBV_QPT_UD;
  ibv_qp* datagram = ibv_create_qp(end_.domain, &attr);
  ASSERT_NE(datagram, nullptr);
  ASSERT_EQ(Move(datagram, IBV_QPS_INIT), 0);
  ASSERT_EQ(Move(datagram, IBV_QPS_RTR), 0);
  ibv_qp_attr to{};
  to.qp_state = IBV_QPS_RTS;
  EXPECT_EQ(ibv_modify_qp(datagram, &to, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_RNR_RETRY), EINVAL);
  EXPECT_EQ(Move(datagram, IBV_QPS_RTS), 0);
  EXPECT_EQ(ibv_destroy_qp(datagram), 0);
}

// The key of a queue pair may change while its work is under way: every request still completes.
TEST_F(ObjectsTest, AKeyThatChangesLosesNoCompletion) {
  End sender({});
  End receiver({});
  ASSERT_EQ(receiver.Receive(1, {receiver.Segment(0, 64)}), 0);
  ASSERT_EQ(sender.Send(receiver, 2, {sender.Segment(0, 8)}), 0);
  ibv_qp_attr attr{};
  attr.qkey = End::kQkey + 1;
  ASSERT_EQ(ibv_modify_qp(sender.queue_pair, &attr, IBV_QP_QKEY), 0);
  const Entry sent = Await(sender.send_queue);
  EXPECT_EQ(sent.wr_id, 2u);
  EXPECT_EQ(sent.status, IBV_WC_SUCCESS);
  EXPECT_EQ(Await(receiver.receive_queue).wr_id, 1u);
}

// The receives of a queue pair that is not ready yet are there when it is.
TEST_F(ObjectsTest, AReceiveThatWasPostedBeforeThePairWasReady) {
  End receiver({.ready = false});
  ASSERT_EQ(Move(receiver.queue_pair, IBV_QPS_INIT), 0);
  ASSERT_EQ(receiver.Receive(1, {receiver.Segment(0, 64)}), 0);
  EXPECT_FALSE(Take(receiver.receive_queue).has_value());
  ASSERT_EQ(Move(receiver.queue_pair, IBV_QPS_RTR), 0);
  End sender({});
  ASSERT_EQ(sender.Send(receiver, 2, {sender.Segment(0, 8)}), 0);
  EXPECT_EQ(Await(sender.send_queue).status, IBV_WC_SUCCESS);
  EXPECT_EQ(Await(receiver.receive_queue).wr_id, 1u);
  // In error, both what is there and what comes are flushed or refused.
  ASSERT_EQ(receiver.Receive(3, {receiver.Segment(0, 64)}), 0);
  ASSERT_EQ(Move(receiver.queue_pair, IBV_QPS_ERR), 0);
  EXPECT_EQ(Await(receiver.receive_queue).status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(receiver.Receive(4, {receiver.Segment(0, 64)}), EINVAL);
}

TEST_F(ObjectsTest, WorkWaitsWhileASendQueueIsDrained) {
  End sender({});
  End receiver({});
  ASSERT_EQ(receiver.Receive(1, {receiver.Segment(0, 64)}), 0);
  ASSERT_EQ(Move(sender.queue_pair, IBV_QPS_SQD), 0);
  ASSERT_EQ(sender.Send(receiver, 2, {sender.Segment(0, 8)}), 0);
  // Peers still reach it, and their messages take longer than its own would.
  ASSERT_EQ(sender.Receive(3, {sender.Segment(0, 64)}), 0);
  ASSERT_EQ(receiver.Send(sender, 4, {receiver.Segment(0, 8)}), 0);
  EXPECT_EQ(Await(sender.receive_queue).wr_id, 3u);
  EXPECT_EQ(Await(receiver.send_queue).wr_id, 4u);
  EXPECT_TRUE(sender.Quiet());
  EXPECT_TRUE(receiver.Quiet());
  ASSERT_EQ(Move(sender.queue_pair, IBV_QPS_RTS), 0);
  EXPECT_EQ(Await(sender.send_queue).wr_id, 2u);
  EXPECT_EQ(Await(receiver.receive_queue).wr_id, 1u);
}

// Nothing of before is heard of again, and the rings are as those of a new queue pair.
TEST_F(ObjectsTest, AQueuePairThatIsResetForgetsWhatWasPosted) {
  End sender({});
  End receiver({});
  ibv_qp_attr now{};
  ibv_qp_init_attr made{};
  ASSERT_EQ(ibv_query_qp(receiver.queue_pair, &now, IBV_QP_CAP, &made), 0);
  const std::uint64_t room = now.cap.max_recv_wr;
  for (int round = 0; round < 3; ++round) {
    std::uint64_t posted = 0;
    while (receiver.Receive(posted, {receiver.Segment(0, 64)}) == 0) ++posted;
    EXPECT_EQ(posted, room) << round;
    ASSERT_EQ(sender.Send(receiver, 2, {sender.Segment(0, 8)}), 0);
    EXPECT_EQ(Await(sender.send_queue).wr_id, 2u);  // its receive's completion is there, not read
    ASSERT_EQ(sender.Send(receiver, 3, {sender.Segment(0, 8)}), 0);
    for (End* end : {&sender, &receiver}) {
      ASSERT_EQ(Move(end->queue_pair, IBV_QPS_RESET), 0);
      EXPECT_TRUE(end->Quiet());
      ASSERT_EQ(MakeReady(end->queue_pair), 0);
    }
  }
  ASSERT_EQ(sender.Send(receiver, 5, {sender.Segment(0, 8)}), 0);
  EXPECT_TRUE(receiver.Quiet());  // no receive of before is there
  ASSERT_EQ(receiver.Receive(4, {receiver.Segment(0, 64)}), 0);
  EXPECT_EQ(Await(receiver.receive_queue).wr_id, 4u);
  EXPECT_EQ(Await(sender.send_queue).wr_id, 5u);
  EXPECT_TRUE(sender.Quiet());
}

TEST_F(ObjectsTest, WhereWorkCanBePosted) {
  const std::set<ibv_qp_state> sends = {IBV_QPS_RTS, IBV_QPS_SQD};
  const std::set<ibv_qp_state> receives = {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQD};
  for (const std::vector<ibv_qp_state>& way : Ways()) {
    End end({.ready = false});
    for (const ibv_qp_state state : way) ASSERT_EQ(Move(end.queue_pair, state), 0);
    const ibv_qp_state state = end.queue_pair->state;
    EXPECT_EQ(end.Send(end, 1, {end.Segment(0, 8)}), sends.contains(state) ? 0 : EINVAL) << state;
    if (Device().rdma_write) {
      EXPECT_EQ(end.Write(end, 2, 8), sends.contains(state) ? 0 : EINVAL) << state;
    }
    EXPECT_EQ(end.Receive(3, {end.Segment(0, 8)}), receives.contains(state) ? 0 : EINVAL) << state;
  }
}

}  // namespace
}  // namespace drydock::sim_testing
