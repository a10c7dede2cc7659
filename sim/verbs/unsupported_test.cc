// Functions that EFA does not have: each call gives its error, and prints the reason once.

#include <dlfcn.h>
#include <infiniband/efadv.h>
#include <infiniband/verbs.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "drydock/sim/verbs/newer_functions.h"
#include "drydock/sim/verbs/testing/end.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using sim::verbs::Buffer;
using sim::verbs::MrInitAttr;
using ::testing::HasSubstr;

class UnsupportedTest : public ::testing::Test {
 protected:
  // The output of `call` on standard error, called twice.
  std::string SaidBy(const std::function<void()>& call) {
    ::testing::internal::CaptureStderr();
    call();
    call();
    return ::testing::internal::GetCapturedStderr();
  }
  // The errno of a call that gives no object.
  template <typename Thing>
  static int ErrorOf(const std::function<Thing*()>& call) {
    errno = 0;
    EXPECT_EQ(call(), nullptr);
    return errno;
  }

  End end_{{.ready = false}};
};

TEST_F(UnsupportedTest, EachKindIsSaidOnceWithItsReason) {
  struct Case {
    const char* said;
    int error;
    std::function<int()> call;
  };
  ibv_context* const context = end_.context;
  const auto object = [](void* made) { return made == nullptr ? errno : 0; };
  const std::vector<Case> cases = {
      {"ibv_create_srq: EFA has no shared receive queues (EOPNOTSUPP)", EOPNOTSUPP,
       [&] { return object(ibv_create_srq(end_.domain, nullptr)); }},
      {"ibv_attach_mcast: EFA has no multicast", EOPNOTSUPP,
       [&] { return ibv_attach_mcast(end_.queue_pair, &end_.gid, 0); }},
      {"ibv_resize_cq", EOPNOTSUPP,
       [&] { return ibv_resize_cq(ibv_cq_ex_to_cq(end_.send_queue), 8); }},
      {"ibv_query_ece", EOPNOTSUPP,
       [&] {
         ibv_ece options{};
         return ibv_query_ece(end_.queue_pair, &options);
       }},
      {"ibv_import_device", EOPNOTSUPP, [&] { return object(ibv_import_device(0)); }},
      {"ibv_import_dm", EOPNOTSUPP, [&] { return object(ibv_import_dm(context, 0)); }},
      {"ibv_alloc_dmah", EOPNOTSUPP,
       [&] { return object(sim::verbs::AllocateHints(context, nullptr)); }},
      {"ibv_create_comp_cntr", EOPNOTSUPP,
       [&] {
         sim::verbs::CompCntrInitAttr attr{};
         return object(sim::verbs::CreateCounter(context, &attr));
       }},
      {"ibv_reg_mr: rights", EOPNOTSUPP,
       [&] {
         constexpr int kAtomics = IBV_ACCESS_REMOTE_ATOMIC;
         return object(ibv_reg_mr(end_.domain, end_.at(0), 8, kAtomics));
       }},
      {"ibv_create_cq_ex: completions of EFA do not tell that", EOPNOTSUPP,
       [&] {
         ibv_cq_init_attr_ex attr{};
         attr.cqe = 8;
         attr.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
         return object(ibv_create_cq_ex(context, &attr));
       }},
      {"efadv_create_qp_ex: unknown wr_flags", EOPNOTSUPP,
       [&] {
         auto attr = QueuePairAttributes(end_.domain, end_.send_queue, end_.receive_queue);
         sim::verbs::QpInitAttr efa{};
         efa.wr_flags = 1ull << 40;
         return object(efadv_create_qp_ex(context, &attr,
                                          reinterpret_cast<efadv_qp_init_attr*>(&efa), sizeof efa));
       }},
      {"efadv_create_qp_ex: members that rdma-core 65 does not have", EINVAL,
       [&] {
         auto attr = QueuePairAttributes(end_.domain, end_.send_queue, end_.receive_queue);
         alignas(8) std::uint8_t bytes[32] = {};
         bytes[31] = 1;
         return object(efadv_create_qp_ex(
             context, &attr, reinterpret_cast<efadv_qp_init_attr*>(bytes), sizeof bytes));
       }},
      {"ibv_alloc_mw: EFA", EOPNOTSUPP,
       [&] { return object(ibv_alloc_mw(end_.domain, IBV_MW_TYPE_2)); }},
      {"ibv_advise_mr: EFA", EOPNOTSUPP,
       [&] { return ibv_advise_mr(end_.domain, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, nullptr, 0); }},
      {"ibv_alloc_null_mr: EFA", EOPNOTSUPP,
       [&] { return object(ibv_alloc_null_mr(end_.domain)); }},
      {"ibv_create_counters: EFA", EOPNOTSUPP,
       [&] {
         ibv_counters_init_attr attr{};
         return object(ibv_create_counters(context, &attr));
       }},
      {"ibv_alloc_dm: EFA", EOPNOTSUPP,
       [&] {
         ibv_alloc_dm_attr attr{};
         return object(ibv_alloc_dm(context, &attr));
       }},
      {"ibv_modify_cq: EFA", EOPNOTSUPP,
       [&] {
         ibv_modify_cq_attr attr{};
         return ibv_modify_cq(ibv_cq_ex_to_cq(end_.send_queue), &attr);
       }},
      {"ibv_create_wq: EFA", EOPNOTSUPP,
       [&] {
         ibv_wq_init_attr attr{};
         return object(ibv_create_wq(context, &attr));
       }},
      {"ibv_create_rwq_ind_table: EFA", EOPNOTSUPP,
       [&] {
         ibv_rwq_ind_table_init_attr attr{};
         return object(ibv_create_rwq_ind_table(context, &attr));
       }},
      {"ibv_query_rt_values_ex: EFA", EOPNOTSUPP,
       [&] {
         ibv_values_ex values{};
         return ibv_query_rt_values_ex(context, &values);
       }},
      {"ibv_open_xrcd: EFA", EOPNOTSUPP,
       [&] {
         ibv_xrcd_init_attr attr{};
         return object(ibv_open_xrcd(context, &attr));
       }},
      {"ibv_req_notify_cq", EOPNOTSUPP,
       [&] { return ibv_req_notify_cq(ibv_cq_ex_to_cq(end_.send_queue), 1); }},
  };
  for (const Case& test : cases) {
    std::vector<int> errors;
    const std::string said = SaidBy([&] { errors.push_back(test.call()); });
    EXPECT_EQ(errors, std::vector<int>(2, test.error)) << test.said;
    const std::string line = std::string("drydock-efa: ") + test.said;
    EXPECT_THAT(said, HasSubstr(line));
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  }
}

// The answer of an instance without counters, which libfabric queries when it starts.
TEST_F(UnsupportedTest, NoCompletionCounters) {
  sim::verbs::CompCntrCaps caps{~0ull, ~0u, ~0u};
  EXPECT_EQ(sim::verbs::QueryCounterCaps(end_.context, &caps, sizeof caps), 0);
  EXPECT_EQ(caps.max_value, 0u);
  EXPECT_EQ(caps.max_counters, 0u);
  EXPECT_EQ(caps.supported_qp_attach_ops, 0u);
  sim::verbs::CompCntrInitAttr attr{};
  EXPECT_EQ(sim::verbs::CreateEfaCounter(end_.context, &attr, nullptr, 0), nullptr);
  EXPECT_EQ(sim::verbs::AttachCounter(end_.queue_pair, nullptr, nullptr), EOPNOTSUPP);
}

TEST_F(UnsupportedTest, BuffersOfTheLibrary) {
  Buffer* buffer = nullptr;
  auto* memory = static_cast<std::byte*>(sim::verbs::AllocateBuffer(end_.domain, 5000, &buffer));
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 4096, 0u);
  constexpr int kWrite = IBV_ACCESS_LOCAL_WRITE;
  ibv_mr* region = sim::verbs::RegisterBuffer(end_.domain, buffer, memory + 10, 4990, kWrite);
  ASSERT_NE(region, nullptr);
  EXPECT_EQ(ibv_dereg_mr(region), 0);
  for (const std::span<std::byte> outside :
       {std::span(memory + 10, 4991), std::span(memory - 1, 10), std::span(memory + 5001, 1)}) {
    EXPECT_EQ(ErrorOf<ibv_mr>([&] {
                return sim::verbs::RegisterBuffer(end_.domain, buffer, outside.data(),
                                                  outside.size(), kWrite);
              }),
              EINVAL);
  }
  // Of another domain than the one that it was made with.
  ibv_pd* const other = ibv_alloc_pd(end_.context);
  EXPECT_EQ(ErrorOf<ibv_mr>(
                [&] { return sim::verbs::RegisterBuffer(other, buffer, memory, 10, kWrite); }),
            EINVAL);
  EXPECT_EQ(ibv_dealloc_pd(other), 0);
  // By its members; peers can name it by its own address only.
  MrInitAttr attr{};
  attr.length = 10;
  attr.access = kWrite;
  attr.comp_mask = sim::verbs::kMrAddress | sim::verbs::kMrBuffer | sim::verbs::kMrIova;
  attr.address = memory;
  attr.iova = reinterpret_cast<std::uint64_t>(memory);
  attr.buffer = buffer;
  const auto by_members = [&] { return sim::verbs::RegisterExtended(end_.domain, &attr); };
  region = by_members();
  ASSERT_NE(region, nullptr);
  EXPECT_EQ(ibv_dereg_mr(region), 0);
  attr.iova = 0;
  EXPECT_EQ(ErrorOf<ibv_mr>(by_members), EOPNOTSUPP);
  attr.iova = reinterpret_cast<std::uint64_t>(memory);
  attr.length = 5001;
  EXPECT_EQ(ErrorOf<ibv_mr>(by_members), EINVAL);
  EXPECT_EQ(sim::verbs::ExportBuffer(buffer), -1);
  EXPECT_EQ(errno, ENODATA);
  sim::verbs::FreeBuffer(buffer);
  EXPECT_EQ(ErrorOf<void>([&] { return sim::verbs::AllocateBuffer(end_.domain, 0, &buffer); }),
            EINVAL);
}

TEST_F(UnsupportedTest, RegionsByTheirMembers) {
  const int fd = memfd_create("device", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(fd, 4096), 0);
  void* mapped = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  const auto iova = reinterpret_cast<std::uint64_t>(mapped);
  const auto error_of = [&](std::uint64_t mask) {
    MrInitAttr attr{};
    attr.length = 4096;
    attr.access = IBV_ACCESS_LOCAL_WRITE;
    attr.comp_mask = mask;
    attr.iova = iova;
    attr.address = mapped;
    attr.fd = fd;
    errno = 0;
    ibv_mr* region = sim::verbs::RegisterExtended(end_.domain, &attr);
    if (region == nullptr) return errno;
    EXPECT_EQ(region->addr, mapped);
    EXPECT_EQ(ibv_dereg_mr(region), 0);
    return 0;
  };
  using namespace sim::verbs;  // NOLINT(build/namespaces)
  EXPECT_EQ(error_of(kMrAddress), 0);
  EXPECT_EQ(error_of(kMrAddress | kMrIova), 0);
  EXPECT_EQ(error_of(kMrIova | kMrFd | kMrFdOffset), 0);
  EXPECT_EQ(error_of(kMrIova), EINVAL);
  EXPECT_EQ(error_of(kMrFd | kMrFdOffset), EINVAL);
  EXPECT_EQ(error_of(kMrIova | kMrFd), EINVAL);
  EXPECT_EQ(error_of(kMrAddress | kMrIova | kMrFd | kMrFdOffset), EINVAL);
  EXPECT_EQ(error_of(kMrAddress | kMrHints), EOPNOTSUPP);
  EXPECT_EQ(error_of(kMrAddress | 1u << 20), EOPNOTSUPP);
  munmap(mapped, 4096);
  close(fd);
}

// Programs print these words, and people search logs for them.
TEST(WordsTest, AreThoseOfLibibverbs) {
  void* const library = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) GTEST_SKIP() << dlerror();
  const auto compare = [&](const char* name, const char* (*ours)(int), int end) {
    const auto theirs = reinterpret_cast<const char* (*)(int)>(dlsym(library, name));
    ASSERT_NE(theirs, nullptr) << name;
    for (int i = -1; i < end; ++i) EXPECT_STREQ(ours(i), theirs(i)) << name << ": " << i;
  };
  compare(
      "ibv_wc_status_str", [](int i) { return ibv_wc_status_str(static_cast<ibv_wc_status>(i)); },
      30);
  compare(
      "ibv_node_type_str", [](int i) { return ibv_node_type_str(static_cast<ibv_node_type>(i)); },
      10);
  compare(
      "ibv_port_state_str",
      [](int i) { return ibv_port_state_str(static_cast<ibv_port_state>(i)); }, 10);
  // Later releases have more.
  compare(
      "ibv_event_type_str",
      [](int i) { return ibv_event_type_str(static_cast<ibv_event_type>(i)); },
      IBV_EVENT_WQ_FATAL + 1);
  dlclose(library);
}

// Results of libibverbs 44.
TEST(RatesTest, AreThoseOfLibibverbs) {
  EXPECT_EQ(ibv_rate_to_mult(IBV_RATE_40_GBPS), 16);
  EXPECT_EQ(ibv_rate_to_mult(IBV_RATE_100_GBPS), -1);
  EXPECT_EQ(ibv_rate_to_mult(IBV_RATE_MAX), -1);
  EXPECT_EQ(mult_to_ibv_rate(160), IBV_RATE_400_GBPS);
  EXPECT_EQ(mult_to_ibv_rate(0), IBV_RATE_MAX);
  EXPECT_EQ(mult_to_ibv_rate(7), IBV_RATE_MAX);
  EXPECT_EQ(ibv_rate_to_mbps(IBV_RATE_100_GBPS), 103125);
  EXPECT_EQ(ibv_rate_to_mbps(IBV_RATE_MAX), -1);
  EXPECT_EQ(mbps_to_ibv_rate(206250), IBV_RATE_200_GBPS);
  EXPECT_EQ(mbps_to_ibv_rate(1), IBV_RATE_MAX);
}

}  // namespace
}  // namespace drydock::sim_testing
