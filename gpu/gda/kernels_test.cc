// Kernels on the stand-in GPU: threads of the host that post, ring and poll, against a simulated
// NIC on a thread of its own. Nothing here depends on how fast anything is: time-outs are for
// failing only, and where one is expected, no answer was possible.

#include "drydock/gpu/gda/kernels.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "drydock/gpu/gda/bell_ringer.h"
#include "drydock/gpu/gda/launcher.h"
#include "drydock/gpu/gda/proxy_server.h"
#include "drydock/gpu/gda/queue_fault.h"
#include "drydock/gpu/gda/service_thread.h"
#include "drydock/gpu/gda/shared_queue.h"
#include "drydock/gpu/gda/testing/test_bed.h"
#include "drydock/gpu/host_device/host_device.h"
#include "drydock/sim/testing/lab.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::gpu::gda {
namespace {

using sim_testing::Fill;
using sim_testing::Holds;
using sim_testing::Must;
using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;

constexpr std::uint64_t kSeed = 2;
constexpr std::uint64_t kPatience = 60'000'000'000;  // ns

class KernelsTest : public ::testing::TestWithParam<RingMode> {
 protected:
  KernelsTest()
      : bed_(kSeed),
        device_(OpenHostDevice()),
        launcher_(Must(OpenLauncher(*device_))),
        proxied_(bed_.lab.AddBeside(bed_.a.side)) {
    proxied_.Insert(bed_.b.side);
    bed_.b.side.Insert(proxied_);
    ringer_.emplace(Must(BellRinger::Open(bed_.a.queue.View())));
    proxy_.emplace(Must(
        ProxyServer::Open(*proxied_.endpoint, *proxied_.queue, proxied_.PeerOf(bed_.b.side), 8)));
    proxy_->Use(*proxied_.region);
    service_.Add([this] { return bed_.engine.Step(); });
    if (GetParam() == RingMode::kBellRecord) service_.Add([this] { return ringer_->Step(); });
    if (GetParam() == RingMode::kProxy) service_.Add([this] { return proxy_->Step(); });
    report_ = Must(launcher_->AllocateShared(sizeof(KernelReport))).on_host<KernelReport>();
  }
  ~KernelsTest() override {
    service_.Stop();
    // Whatever the test did wrong on purpose was a key.
    EXPECT_THAT(bed_.a.queue.faults(), Each(Field(&QueueFault::kind, QueueFaultKind::kBadKey)));
  }

  // Whose memory the transfers start from: a proxy's endpoint has one of its own.
  sim_testing::Side& source() { return GetParam() == RingMode::kProxy ? proxied_ : bed_.a.side; }
  ChannelView View() {
    ChannelView view;
    view.mode = GetParam();
    view.queue = view.mode == RingMode::kBellRecord ? ringer_->View() : bed_.a.queue.View();
    view.queue_state = &bed_.a.state;
    view.peer = bed_.to_b;
    view.proxy = proxy_->View();
    view.proxy_state = &proxy_state_;
    return view;
  }
  Transfer Write(std::size_t offset, std::uint32_t length) {
    Transfer transfer = bed_.a.WriteTo(bed_.b, offset, length);
    transfer.lkey = static_cast<std::uint32_t>(source().region->local_key());
    transfer.local = reinterpret_cast<std::uint64_t>(source().memory().data() + offset);
    return transfer;
  }
  KernelReport Run(Kernel kernel, Grid grid, const void* arguments) {
    *report_ = KernelReport();
    EXPECT_TRUE(launcher_->Launch(kernel, grid, arguments).ok());
    EXPECT_TRUE(launcher_->Wait().ok());
    return *report_;
  }
  KernelReport Put(const Transfer& transfer, std::uint64_t patience = kPatience) {
    const PutArguments arguments{View(), transfer, patience, report_};
    return Run(Kernel::kPut, {}, &arguments);
  }
  // `count` writes of 64 bytes, and whether all of them came.
  KernelReport Loop(Kernel kernel, Grid grid, std::uint64_t count, std::uint32_t batch) {
    Fill(source().memory(), ++fill_);
    const Series series{Write(0, 64), count, count, 64};
    const LoopArguments arguments{View(), series, batch, kPatience, report_};
    const KernelReport report = Run(kernel, grid, &arguments);
    service_.Run([&] {
      EXPECT_EQ(std::memcmp(bed_.b.side.memory().data(), source().memory().data(), count * 64), 0);
    });
    return report;
  }

  TestBed bed_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Launcher> launcher_;
  sim_testing::Side& proxied_;
  std::optional<BellRinger> ringer_;
  std::optional<ProxyServer> proxy_;
  ProxyState proxy_state_;
  ServiceThread service_;
  KernelReport* report_;
  std::uint64_t fill_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Ways, KernelsTest,
                         ::testing::Values(RingMode::kMappedBell, RingMode::kBellRecord,
                                           RingMode::kProxy),
                         [](const auto& one) { return std::string(RingModeName(one.param)); });

TEST_P(KernelsTest, PutIsThereWhenItReturns) {
  service_.Start();
  for (std::uint64_t i = 1; i <= 10; ++i) {
    service_.Run([&] { Fill(source().Bytes(64 * i, 1000), i); });
    const KernelReport report = Put(Write(64 * i, 1000));
    ASSERT_EQ(report.outcome, Outcome::kOk) << i;
    EXPECT_EQ(report.done, 1u);
    service_.Run([&] { EXPECT_TRUE(Holds(bed_.b.side.Bytes(64 * i, 1000), i)); });
  }
}

TEST_P(KernelsTest, ReadsAndImmediatesToo) {
  service_.Start();
  Transfer read = Write(0, 500);
  read.operation = fabric::efa_queue::Operation::kRead;
  service_.Run([&] { Fill(bed_.b.side.Bytes(0, 500), 77); });
  ASSERT_EQ(Put(read).outcome, Outcome::kOk);
  service_.Run([&] { EXPECT_TRUE(Holds(source().Bytes(0, 500), 77)); });
  Transfer told = Write(0, 8);
  told.has_immediate = true;
  told.immediate = 0x5eed;
  ASSERT_EQ(Put(told).outcome, Outcome::kOk);
  DeviceQueue<> receiver(bed_.b.queue.View(), &bed_.b.state);
  fabric::efa_queue::Completion done;
  while (receiver.PollReceive(done) == PollResult::kEmpty) Relax();
  EXPECT_EQ(done.immediate, 0x5eedu);
}

TEST_P(KernelsTest, ManyWritesOneByOneInBatchesAndAllAtOnce) {
  service_.Start();
  for (const std::uint32_t batch : {1u, 32u, 0u}) {
    const KernelReport report = Loop(Kernel::kWriteLoop, {}, 90, batch);
    EXPECT_EQ(report.outcome, Outcome::kOk) << batch;
    EXPECT_EQ(report.done, 90u);
  }
}

TEST_P(KernelsTest, AFailureHasItsStatusAndTheNextOneWorks) {
  service_.Start();
  Transfer wrong = Write(0, 64);
  wrong.rkey ^= 0x5a5a;
  KernelReport report = Put(wrong);
  EXPECT_EQ(report.outcome, Outcome::kFailed);
  EXPECT_EQ(report.failures, 1u);
  EXPECT_EQ(report.status, 7u);
  wrong = Write(0, 64);
  wrong.lkey ^= 0x5a;
  report = Put(wrong);
  EXPECT_EQ(report.outcome, Outcome::kFailed);
  EXPECT_EQ(report.status, 5u);
  EXPECT_EQ(Put(Write(0, 64)).outcome, Outcome::kOk);
}

// The NIC is not served: the kernel ends all the same.
TEST_P(KernelsTest, AKernelDoesNotWaitForEver) {
  EXPECT_EQ(Put(Write(0, 64), /*patience=*/1'000'000).outcome, Outcome::kTimedOut);
}

// ---- Teams: the device fills the NIC's ring itself ----

class TeamsTest : public KernelsTest {};

INSTANTIATE_TEST_SUITE_P(Ways, TeamsTest,
                         ::testing::Values(RingMode::kMappedBell, RingMode::kBellRecord),
                         [](const auto& one) { return std::string(RingModeName(one.param)); });

TEST_P(TeamsTest, ABlockFillsABatchTogether) {
  service_.Start();
  for (const unsigned threads : {3u, 16u}) {
    const KernelReport report = Loop(Kernel::kTeamWrites, {1, threads}, 50, 0);
    EXPECT_EQ(report.outcome, Outcome::kOk) << threads;
    EXPECT_EQ(report.done, 50u);
  }
  EXPECT_EQ(Loop(Kernel::kWriteLoop, {}, 50, 5).outcome, Outcome::kOk);  // it goes on from there
  const KernelReport report = Loop(Kernel::kTeamWrites, {1, 8}, 50, 3);  // batches of 3 by 8
  EXPECT_EQ(report.outcome, Outcome::kOk);
  EXPECT_EQ(report.done, 50u);
}

// The first kernel is not served, and the second completes what it left before its own work.
TEST_P(TeamsTest, ABlockDoesNotWaitForEverAndTakesUpWhatWasLeft) {
  const Series series{Write(0, 64), 3, 3, 64};
  const LoopArguments arguments{View(), series, 0, /*timeout_ns=*/1'000'000, report_};
  EXPECT_EQ(Run(Kernel::kTeamWrites, {1, 4}, &arguments).outcome, Outcome::kTimedOut);
  service_.Start();
  const LoopArguments more{View(), series, 0, kPatience, report_};
  EXPECT_EQ(Run(Kernel::kTeamWrites, {1, 4}, &more).outcome, Outcome::kOk);
  EXPECT_EQ(report_->done, 3u);
  EXPECT_EQ(bed_.a.state.send.in_flight(), 0u);
  EXPECT_EQ(bed_.a.state.send_done.consumed(), 6u);
}

TEST_P(TeamsTest, ABlockTellsOfFailures) {
  service_.Start();
  Series series{Write(0, 64), 20, 1, 0};
  series.first.rkey ^= 0x5a5a;
  const LoopArguments arguments{View(), series, 0, kPatience, report_};
  const KernelReport report = Run(Kernel::kTeamWrites, {1, 4}, &arguments);
  EXPECT_EQ(report.outcome, Outcome::kFailed);
  EXPECT_EQ(report.failures, 20u);
  EXPECT_EQ(report.status, 7u);
}

TEST_P(TeamsTest, ManyBlocksShareOneQueue) {
  service_.Start();
  const QueueView view = View().queue;
  ASSERT_TRUE(CanBeShared(view));
  SharedView shared{view, bed_.to_b};
  shared.state = static_cast<SharedState*>(Must(launcher_->AllocateScratch(sizeof(SharedState))));
  shared.laps = static_cast<std::uint32_t*>(
      Must(launcher_->AllocateScratch(view.send.entry_count * sizeof(std::uint32_t))));
  const SharedMemory reports = Must(launcher_->AllocateShared(4 * sizeof(KernelReport)));
  for (std::uint64_t round = 1; round <= 2; ++round) {
    service_.Run([&] { Fill(source().memory(), 100 + round); });
    const Series series{Write(0, 64), 80, 80, 64};
    const BlockArguments arguments{shared, series, kPatience, reports.on_device<KernelReport>()};
    Run(Kernel::kBlockWrites, {4, 2}, &arguments);
    std::uint64_t done = 0;
    for (int block = 0; block < 4; ++block) {
      const KernelReport& report = reports.on_host<KernelReport>()[block];
      EXPECT_EQ(report.outcome, Outcome::kOk) << "block " << block;
      done += report.done;
    }
    EXPECT_EQ(done, 80u);
    service_.Run([&] {
      EXPECT_EQ(std::memcmp(bed_.b.side.memory().data(), source().memory().data(), 80 * 64), 0);
    });
  }
}

// No NIC: what is announced does not complete.
TEST(SharedQueueTest, NoMoreThanABatchIsTakenBetweenDoorbells) {
  constexpr std::uint32_t kEntries = 16, kBatch = 4;
  constexpr std::uint64_t kSoon = 1'000'000;  // ns
  alignas(64) unsigned char entries[kEntries * 64] = {}, done[kEntries * 16] = {};
  std::uint32_t bell = kNotRung, laps[kEntries] = {};
  SharedState state;
  SharedView view;
  view.queue.send = {entries, kEntries, 64, kBatch, {.word = &bell}};
  view.queue.send_done = {done, kEntries, 16};
  view.state = &state;
  view.laps = laps;
  SharedQueue one(view), other(view);
  std::uint32_t first = 0, ticket = 0;
  ASSERT_TRUE(one.Take(kBatch - 1, kSoon, first));
  ASSERT_TRUE(other.Take(1, kSoon, ticket));
  ASSERT_TRUE(one.Announce(first, kBatch - 1, kSoon));
  ASSERT_TRUE(one.Take(kBatch - 1, kSoon, first));
  EXPECT_EQ(other.broken(), 0u);
  EXPECT_FALSE(other.Take(1, kSoon, ticket));  // one more than a batch, and nobody rings
  EXPECT_EQ(other.broken(), SharedQueue::kTookTooLong);
}

// ---- The launcher of the stand-in ----

TEST(HostLauncherTest, FillsAndCountsInDeviceMemory) {
  const std::unique_ptr<Device> device = OpenHostDevice();
  const std::unique_ptr<Launcher> launcher = Must(OpenLauncher(*device));
  const std::unique_ptr<DeviceMemory> memory = Must(device->Allocate(1000));
  auto* const report = Must(launcher->AllocateShared(sizeof(KernelReport))).on_host<KernelReport>();
  BytesArguments arguments{Must(launcher->Reach(memory->address(), 1000)), 1000, 42, report};
  ASSERT_TRUE(launcher->Launch(Kernel::kFillBytes, {1, 3}, &arguments).ok());
  EXPECT_EQ(launcher->Launch(Kernel::kFillBytes, {}, &arguments).code(),
            absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(launcher->Wait().ok());
  EXPECT_EQ(report->outcome, Outcome::kOk);
  arguments.length = 999;
  arguments.value = 43;
  ASSERT_TRUE(launcher->Launch(Kernel::kFillBytes, {1, 3}, &arguments).ok());
  ASSERT_TRUE(launcher->Wait().ok());
  arguments.length = 1000;
  ASSERT_TRUE(launcher->Launch(Kernel::kCountWrong, {1, 3}, &arguments).ok());
  ASSERT_TRUE(launcher->Wait().ok());
  EXPECT_EQ(report->outcome, Outcome::kFailed);
  EXPECT_EQ(report->done, 1u);
  EXPECT_EQ(launcher->Reach(memory->address(), 100000).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(launcher->Launch(Kernel::kPut, {257, 1}, &arguments).message(),
              HasSubstr("1 to 256"));
}

TEST(ProxyServerTest, TakesPowersOfTwo) {
  TestBed bed(kSeed);
  EXPECT_EQ(ProxyServer::Open(*bed.a.side.endpoint, *bed.a.side.queue, fabric::Peer{}, 12)
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace drydock::gpu::gda
