// Completion counters of a device that has them (p5en), in its memory and in the program's.

#include <infiniband/verbs.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "drydock/sim/verbs/newer_functions.h"
#include "drydock/sim/verbs/testing/end.h"
#include "drydock/sim/verbs/testing/profile_in_use.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

namespace v = sim::verbs;

class CompletionCounterTest : public ::testing::Test {
 protected:
  CompletionCounterTest() {
    a_.HandleOf(b_);
    b_.HandleOf(a_);
  }
  ~CompletionCounterTest() override {
    for (End* end : {&a_, &b_}) {
      EXPECT_EQ(ibv_destroy_qp(end->queue_pair), 0);
      end->queue_pair = nullptr;
    }
    for (v::CompCntr* counter : counters_) EXPECT_EQ(v::DestroyCounter(counter), 0);
  }

  v::CompCntr* Make(const End& end, v::EfaCompCntrInitAttr efa = {}) {
    v::CompCntrInitAttr attr{};
    v::CompCntr* counter = v::CreateEfaCounter(end.context, &attr, &efa, sizeof efa);
    EXPECT_NE(counter, nullptr);
    counters_.push_back(counter);
    return counter;
  }
  // The errno of one that cannot be had.
  static int Refusal(const End& end, v::EfaCompCntrInitAttr efa, v::CompCntrInitAttr attr = {}) {
    errno = 0;
    EXPECT_EQ(v::CreateEfaCounter(end.context, &attr, &efa, sizeof efa), nullptr);
    return errno;
  }
  static int Attach(const End& end, v::CompCntr* counter, std::uint32_t operations) {
    v::AttachCompCntrAttr attr{.comp_mask = 0, .op_mask = operations};
    return v::AttachCounter(end.queue_pair, counter, &attr);
  }
  void Ready() {
    for (End* end : {&a_, &b_}) ASSERT_EQ(MakeReady(end->queue_pair), 0);
  }
  static std::uint64_t Value(v::CompCntr* counter) {
    std::uint64_t value = ~0ull;
    EXPECT_EQ(v::ReadCounter(counter, &value), 0);
    return value;
  }
  static std::uint64_t Errors(v::CompCntr* counter) {
    std::uint64_t value = ~0ull;
    EXPECT_EQ(v::ReadErrorCounter(counter, &value), 0);
    return value;
  }
  static std::uint64_t Load(std::uint64_t& word) {
    return std::atomic_ref<std::uint64_t>(word).load(std::memory_order_acquire);
  }

  End a_{{.ready = false}};
  End b_{{.nic = 1, .ready = false}};
  std::vector<v::CompCntr*> counters_;
};

TEST_F(CompletionCounterTest, CapabilitiesAreThoseOfTheMachine) {
  v::CompCntrCaps caps{};
  EXPECT_EQ(v::QueryCounterCaps(a_.context, &caps, sizeof caps), 0);
  EXPECT_EQ(caps.max_counters, 512u);
  EXPECT_EQ(caps.max_value, Device().comp_cntr_max_value);
  EXPECT_EQ(caps.supported_qp_attach_ops, 0x3fu);
  v::DeviceAttr device{};
  EXPECT_EQ(
      efadv_query_device(a_.context, reinterpret_cast<efadv_device_attr*>(&device), sizeof device),
      0);
  EXPECT_NE(device.device_caps & v::kCapCompCntr, 0u);
}

TEST_F(CompletionCounterTest, LocalAndRemoteOperationsAreCountedWithoutAPoll) {
  v::CompCntr* const ours = Make(a_);
  v::CompCntr* const theirs = Make(b_);
  ASSERT_EQ(Attach(a_, ours, v::kCountWrites | v::kCountReads), 0);
  ASSERT_EQ(Attach(b_, theirs, v::kCountRemoteWrites), 0);
  Ready();
  ASSERT_EQ(a_.Write(b_, 1, 100), 0);
  ASSERT_EQ(a_.Write(b_, 2, 0), 0);
  ASSERT_EQ(a_.Read(b_, 3, 100), 0);
  PollUntil([&] { return Value(ours) == 3; });
  PollUntil([&] { return Value(theirs) == 2; });
  EXPECT_EQ(Errors(ours), 0u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Await(a_.send_queue).status, IBV_WC_SUCCESS);
  EXPECT_EQ(Value(ours), 3u);
}

// The word moves by itself: no call is needed.
TEST_F(CompletionCounterTest, TheProgramsOwnWordsAreWritten) {
  std::uint64_t written = 77, failed = 88;
  v::EfaCompCntrInitAttr efa{};
  efa.flags = v::kCompInExternalMemory | v::kErrInExternalMemory;
  efa.comp_cntr_ext_mem.ptr = reinterpret_cast<std::uint8_t*>(&written);
  efa.err_cntr_ext_mem.ptr = reinterpret_cast<std::uint8_t*>(&failed);
  v::CompCntr* const counter = Make(a_, efa);
  // Whatever was there: what the program sets is there then.
  EXPECT_EQ(v::SetCounter(counter, 0), 0);
  EXPECT_EQ(v::SetErrorCounter(counter, 0), 0);
  EXPECT_EQ(Load(written), 0u);
  EXPECT_EQ(Load(failed), 0u);
  ASSERT_EQ(Attach(a_, counter, v::kCountWrites), 0);
  Ready();
  ASSERT_EQ(a_.Write(b_, 1, 100), 0);
  PollUntil([&] { return Load(written) == 1; });
  const std::uint32_t gone = b_.region->rkey;
  EXPECT_EQ(ibv_dereg_mr(b_.region), 0);  // and the next one fails
  b_.region = nullptr;
  ASSERT_EQ(a_.Post(b_, 2,
                    [&](ibv_qp_ex* work) {
                      ibv_wr_rdma_write(work, gone, b_.address(0));
                      ibv_wr_set_sge(work, a_.region->lkey, a_.address(0), 8);
                    }),
            0);
  PollUntil([&] { return Load(failed) == 1; });
  EXPECT_EQ(Load(written), 1u);
  EXPECT_EQ(Value(counter), 1u);
  EXPECT_EQ(Errors(counter), 1u);
}

TEST_F(CompletionCounterTest, AWordInADmabuf) {
  const int fd = memfd_create("device", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(fd, 4096), 0);
  auto* words =
      static_cast<std::uint64_t*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  v::EfaCompCntrInitAttr efa{};
  efa.flags = v::kCompInExternalMemory;
  efa.comp_cntr_ext_mem.type = v::kMemoryInDmabuf;
  efa.comp_cntr_ext_mem.dmabuf.fd = fd;
  efa.comp_cntr_ext_mem.dmabuf.offset = 64;
  v::CompCntr* const counter = Make(b_, efa);
  ASSERT_EQ(Attach(b_, counter, v::kCountReceives), 0);
  Ready();
  ASSERT_EQ(b_.Receive(1, {b_.Segment(0, 100)}), 0);
  ASSERT_EQ(a_.Send(b_, 2, {a_.Segment(0, 100)}), 0);
  PollUntil([&] { return Load(words[8]) == 1; });
  EXPECT_EQ(words[7] + words[9], 0u);
  // Its number is where no address was given of; the errors are the library's.
  std::uint64_t value = 0;
  EXPECT_EQ(v::ReadCounter(counter, &value), EOPNOTSUPP);
  EXPECT_EQ(Errors(counter), 0u);
  EXPECT_EQ(munmap(words, 4096) + close(fd), 0);
}

TEST_F(CompletionCounterTest, NumbersAreSetAndWrapAfterTheGreatest) {
  v::CompCntr* const counter = Make(a_);
  EXPECT_EQ(counter->comp_count_max_value, Device().comp_cntr_max_value);
  ASSERT_EQ(Attach(a_, counter, v::kCountWrites), 0);
  Ready();
  EXPECT_EQ(v::SetCounter(counter, counter->comp_count_max_value), 0);
  EXPECT_EQ(v::SetErrorCounter(counter, 7), 0);
  EXPECT_EQ(v::AddToErrorCounter(counter, 2), 0);
  EXPECT_EQ(Value(counter), counter->comp_count_max_value);
  EXPECT_EQ(Errors(counter), 9u);
  ASSERT_EQ(a_.Write(b_, 1, 8), 0);
  PollUntil([&] { return Value(counter) == 0; });
  EXPECT_EQ(v::AddToCounter(counter, 5), 0);
  EXPECT_EQ(Value(counter), 5u);
}

TEST_F(CompletionCounterTest, AttachingHasItsRules) {
  v::CompCntr* const counter = Make(a_);
  v::CompCntr* const other = Make(a_);
  ASSERT_EQ(Attach(a_, counter, v::kCountWrites | v::kCountSends), 0);
  EXPECT_EQ(Attach(a_, other, v::kCountReads | v::kCountSends), EBUSY);
  EXPECT_EQ(Attach(a_, other, v::kCountReads), 0);
  EXPECT_EQ(Attach(a_, other, 0), EINVAL);
  EXPECT_EQ(Attach(a_, other, 1u << 6), EOPNOTSUPP);
  EXPECT_EQ(Attach(a_, Make(b_), v::kCountReceives), EINVAL);  // another device's
  EXPECT_EQ(v::DestroyCounter(counter), EBUSY);
  Ready();
  EXPECT_EQ(Attach(a_, other, v::kCountReceives), EINVAL);  // too late
}

TEST_F(CompletionCounterTest, MemoryThatCannotBeWrittenIsRefused) {
  alignas(8) std::uint8_t bytes[16] = {};
  v::EfaCompCntrInitAttr efa{};
  efa.flags = v::kCompInExternalMemory;
  EXPECT_EQ(Refusal(a_, efa), EINVAL);  // nowhere
  efa.comp_cntr_ext_mem.ptr = bytes + 4;
  EXPECT_EQ(Refusal(a_, efa), EINVAL);
  void* const page = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  efa.comp_cntr_ext_mem.ptr = static_cast<std::uint8_t*>(page);
  EXPECT_EQ(Refusal(a_, efa), EFAULT);
  EXPECT_EQ(munmap(page, 4096), 0);
  efa.comp_cntr_ext_mem = {.type = v::kMemoryInDmabuf};
  efa.comp_cntr_ext_mem.dmabuf.fd = -1;
  EXPECT_EQ(Refusal(a_, efa), EINVAL);
  efa.comp_cntr_ext_mem.type = 9;
  EXPECT_EQ(Refusal(a_, efa), EOPNOTSUPP);
  EXPECT_EQ(Refusal(a_, {.err_cntr_ext_mem = {.type = 9}}),
            EOPNOTSUPP);                                // though it is not asked for
  EXPECT_EQ(Refusal(a_, {}, {.type = 1}), EOPNOTSUPP);  // bytes
  EXPECT_EQ(Refusal(a_, {}, {.flags = 1}), EOPNOTSUPP);
  EXPECT_EQ(Refusal(a_, {}, {.comp_mask = 1}), EOPNOTSUPP);
  EXPECT_EQ(Refusal(a_, {.comp_mask = 1}), EOPNOTSUPP);
  EXPECT_EQ(Refusal(a_, {.flags = 4}), EOPNOTSUPP);
  v::CompCntrInitAttr attr{};
  v::EfaCompCntrInitAttr none{};
  errno = 0;
  EXPECT_EQ(v::CreateEfaCounter(a_.context, &attr, &none, 16), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(CompletionCounterTest, ADeviceHasSoManyAndNoMore) {
  for (int i = 0; i < 512; ++i) Make(a_);
  EXPECT_EQ(Refusal(a_, {}), ENOMEM);
  Make(b_);  // the other device has its own
  EXPECT_EQ(v::DestroyCounter(counters_.front()), 0);
  counters_.erase(counters_.begin());
  Make(a_);
}

}  // namespace
}  // namespace drydock::sim_testing
