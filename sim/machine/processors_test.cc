// The effect of CPU threads on a program's time, and that nothing changes where no threads were
// added.

#include "drydock/sim/machine/processors.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "drydock/sim/testing/lab.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using namespace std::chrono_literals;

using fabric::ErrorCode;
using sim::CpuThreadOptions;
using sim::Processors;

constexpr std::size_t kPage = 4096;

// Round figures, long beside everything that a NIC does.
sim::Profile RoundFigures() {
  sim::Profile profile = Calm();
  profile.post_cost = 100us;
  profile.doorbell_cost = 10us;
  profile.poll_cost = 1us;
  profile.numa_crossing = 0us;
  profile.host = {.turn = 1000us, .work = 200us, .progress = 50us};
  return profile;
}

// Two machines; the NICs of the first write to those of the second, each to its own.
class Machines {
 public:
  explicit Machines(sim::Profile profile, std::size_t nics = 2, std::uint64_t seed = 1)
      : lab(seed, std::move(profile)) {
    from.push_back(&lab.Add("a"));
    to.push_back(&lab.Add("b"));
    for (std::size_t nic = 1; nic < nics; ++nic) {
      from.push_back(&lab.AddBeside(*from[0], {.nic = nic}));
      to.push_back(&lab.AddBeside(*to[0], {.nic = nic}));
    }
    lab.Introduce();
  }

  Processors& processors() { return lab.world().processors(); }

  std::size_t AddThread(const CpuThreadOptions& options = {.numa_node = 0}) {
    return Must(processors().AddThread(from[0]->node, options));
  }
  void Assign(std::size_t nic, std::size_t thread) {
    EXPECT_TRUE(processors().Assign(from[0]->node, nic, thread).ok());
  }

  // Posts so many writes of `nic` in one call.
  void Post(std::size_t nic, std::uint64_t count = 1) {
    std::vector<fabric::WriteRequest> writes;
    for (std::uint64_t i = 1; i <= count; ++i) {
      writes.push_back(from[nic]->WriteTo(*to[nic], i * kPage, kPage, i));
    }
    const fabric::PostResult result = from[nic]->endpoint->Write(writes);
    EXPECT_EQ(result.accepted, count);
    EXPECT_EQ(result.error, ErrorCode::kOk);
  }
  // Until all of these have ended and were read: as a loop does, waiting for the world.
  coro::Duration Finish(std::vector<std::size_t> nics, std::uint64_t count = 1) {
    for (const std::size_t nic : nics) {
      std::uint64_t left = count;
      while (left > 0) {
        fabric::Completion completion;
        if (from[nic]->queue->Read({&completion, 1}).count > 0) {
          EXPECT_TRUE(completion.ok());
          --left;
        } else if (!lab.world().WaitUntil(coro::kNever)) {
          ADD_FAILURE() << "NIC " << nic << ": " << left << " writes never complete";
          return {};
        }
      }
    }
    return lab.world().timeline().elapsed();
  }

  Lab lab;
  std::vector<Side*> from;
  std::vector<Side*> to;
};

TEST(ProcessorsTest, AProgramWithoutThreadsRunsAsEver) {
  const auto run = [](bool with_a_thread) {
    Machines machines(Small(), 2, 7);
    if (with_a_thread) machines.AddThread();
    machines.Post(0, 16);
    machines.Post(1, 16);
    machines.Finish({0, 1}, 16);
    return machines.lab.world().digest();
  };
  EXPECT_EQ(run(true), run(false));
}

TEST(ProcessorsTest, PostingCostsItsThreadAndNotTheWorld) {
  Machines machines(RoundFigures());
  const std::size_t thread = machines.AddThread();
  machines.Assign(0, thread);
  machines.Post(0, 4);
  EXPECT_EQ(machines.lab.world().timeline().elapsed(), 0us);
  EXPECT_EQ(machines.processors().WorkOf(thread), 1000us + 10us + 4 * 300us);
  // It takes effect when the thread has come to the doorbell, and not before.
  machines.lab.world().timeline().RunFor(2209us);
  EXPECT_EQ(machines.from[0]->nic.counters().tx_pkts, 0u);
  machines.lab.world().timeline().RunFor(10us);
  EXPECT_GT(machines.from[0]->nic.counters().tx_pkts, 0u);
  EXPECT_GT(machines.Finish({0}, 4), 2210us);
}

TEST(ProcessorsTest, ThreadsWorkAtTheSameTimeAndOneDoesOneThingAfterTheOther) {
  const auto time = [](bool two_threads) {
    Machines machines(RoundFigures());
    const std::size_t first = machines.AddThread();
    const std::size_t second = machines.AddThread();
    machines.Assign(0, first);
    machines.Assign(1, two_threads ? second : first);
    machines.Post(0);
    machines.Post(1);
    return machines.Finish({0, 1});
  };
  constexpr auto kOne = 1310us;  // one post call with one request
  EXPECT_LT(time(true), kOne + 200us);
  EXPECT_GT(time(false), 2 * kOne);
  EXPECT_LT(time(false), 2 * kOne + 200us);
}

TEST(ProcessorsTest, BurstsShareATurnAndADoorbell) {
  const auto work = [](bool burst) {
    Machines machines(RoundFigures());
    const std::size_t thread = machines.AddThread();
    machines.Assign(0, thread);
    for (int i = 0; !burst && i < 8; ++i) machines.Post(0);
    if (burst) machines.Post(0, 8);
    return machines.processors().WorkOf(thread);
  };
  EXPECT_EQ(work(false) - work(true), 7 * 1010us);
}

TEST(ProcessorsTest, AThreadThatMakesProgressInItsPostsPaysForIt) {
  Machines machines(RoundFigures());
  const std::size_t eager = machines.AddThread({.numa_node = 0, .progress_in_post = true});
  const std::size_t lazy = machines.AddThread();
  machines.Assign(0, eager);
  machines.Assign(1, lazy);
  machines.Post(0, 8);
  machines.Post(1, 8);
  EXPECT_EQ(machines.processors().WorkOf(eager) - machines.processors().WorkOf(lazy), 8 * 50us);
}

TEST(ProcessorsTest, ABusyThreadFindsNothingAndTheProgramIsWokenWhenItIsFree) {
  Machines machines(RoundFigures());
  machines.Assign(0, machines.AddThread());
  machines.Post(0);
  machines.Finish({0});
  machines.Post(0);  // the thread has read that at the same time: it begins 1 us later
  machines.Post(0);
  const coro::Time begin = machines.lab.world().timeline().backstage().Now();
  fabric::Completion completion;
  EXPECT_EQ(machines.from[0]->queue->Read({&completion, 1}).count, 0u);
  // The first write ends while the thread is at the second one.
  machines.lab.world().timeline().RunFor(2000us);
  EXPECT_GT(machines.from[0]->nic.counters().rdma_write_wrs, 1u);
  EXPECT_EQ(machines.from[0]->queue->Read({&completion, 1}).count, 0u);
  machines.lab.world().timeline().TakeWake();  // for what ended
  EXPECT_TRUE(machines.lab.world().WaitUntil(coro::kNever));
  EXPECT_EQ(machines.lab.world().timeline().backstage().Now() - begin, 1us + 2 * 1310us);
  EXPECT_EQ(machines.from[0]->queue->Read({&completion, 1}).count, 1u);
  machines.Finish({0});
}

TEST(ProcessorsTest, InATurnAThreadLooksAtEachOfItsNicsOnce) {
  Machines machines(RoundFigures());
  const std::size_t thread = machines.AddThread();
  machines.Assign(0, thread);
  machines.Assign(1, thread);
  machines.Post(0, 2);
  machines.Post(1, 2);
  machines.lab.world().timeline().RunFor(10ms);
  fabric::Completion completion;
  for (const std::size_t nic : {0, 1}) {
    EXPECT_EQ(machines.from[nic]->queue->Read({&completion, 1}).count, 1u) << nic;
    EXPECT_EQ(machines.from[nic]->queue->Read({&completion, 1}).count, 0u) << nic;
  }
  machines.Finish({0, 1});
}

TEST(ProcessorsTest, WhoOnlyReadsMakesTimePassInTheEnd) {
  Machines machines(RoundFigures());
  machines.Assign(0, machines.AddThread());
  machines.Post(0);
  fabric::Completion completion;
  std::uint64_t reads = 0;
  constexpr std::uint64_t kMost = 1 << 20;
  while (machines.from[0]->queue->Read({&completion, 1}).count == 0 && reads < kMost) ++reads;
  EXPECT_LT(reads, kMost);
}

// Three threads, so that there are two others.
TEST(ProcessorsTest, ThreadsAreInEachOthersWay) {
  const auto work = [](const CpuThreadOptions& options) {
    sim::Profile profile = CopyOf("p5");
    profile.host = {
        .turn = 1000us, .machine_contention = 0.25, .state_contention = 0.5, .wandering = 4};
    profile.post_cost = profile.doorbell_cost = profile.numa_crossing = {};
    Machines machines(std::move(profile), 3);
    std::size_t thread = 0;
    for (std::size_t nic = 0; nic < 3; ++nic)
      machines.Assign(nic, thread = machines.AddThread(options));
    machines.AddThread(options);  // drives nothing: in no thread's way
    machines.Post(2);
    return machines.processors().WorkOf(thread);
  };
  EXPECT_EQ(work({.numa_node = 0}), 1500us);
  EXPECT_EQ(work({.numa_node = 0, .shares_state = true}), 2500us);
  EXPECT_EQ(work({}), 3000us);
  EXPECT_EQ(work({.shares_state = true}), 7000us);
}

TEST(ProcessorsTest, FarThreadsPayForDoorbells) {
  const auto work = [](int numa_node) {
    sim::Profile profile = RoundFigures();
    profile.numa_crossing = 40us;
    Machines machines(std::move(profile));
    const std::size_t thread = machines.AddThread({.numa_node = numa_node});
    machines.Assign(0, thread);
    machines.Post(0);
    return machines.processors().WorkOf(thread);
  };
  EXPECT_EQ(work(0), 1310us);
  EXPECT_EQ(work(1), 1390us);
  EXPECT_EQ(work(sim::Numa::kAnywhere), 1350us);  // half of its time on each of two nodes
}

TEST(ProcessorsTest, TheFirstRequestToAPeerMakesContact) {
  sim::Profile profile = RoundFigures();
  profile.host.first_contact = 20ms;
  Machines machines(std::move(profile));
  const std::size_t thread = machines.AddThread();
  machines.Assign(0, thread);
  machines.Post(0, 2);
  const coro::Duration first = machines.processors().WorkOf(thread);
  EXPECT_EQ(first, 20ms + 1000us + 10us + 2 * 300us);
  machines.Finish({0}, 2);
  const coro::Duration read = machines.processors().WorkOf(thread);
  machines.Post(0, 2);
  EXPECT_EQ(machines.processors().WorkOf(thread) - read, first - 20ms);
  EXPECT_EQ(
      machines.from[0]->endpoint->Write(machines.from[0]->WriteTo(*machines.from[0], 0, kPage, 9)),
      ErrorCode::kOk);
  EXPECT_EQ(machines.processors().WorkOf(thread) - read, first + 1310us);
  machines.Finish({0}, 3);
}

TEST(ProcessorsTest, ReceivesArePostedByTheThreadToo) {
  Machines machines(RoundFigures());
  Side& b = *machines.to[0];
  const std::size_t thread = Must(machines.processors().AddThread(b.node, {.numa_node = 0}));
  ASSERT_TRUE(machines.processors().Assign(b.node, 0, thread).ok());
  EXPECT_EQ(b.endpoint->Recv(b.RecvAt(0, kPage, 5)), ErrorCode::kOk);
  EXPECT_EQ(machines.processors().WorkOf(thread), 110us);
  EXPECT_EQ(machines.from[0]->endpoint->Send(machines.from[0]->SendTo(b, 0, kPage, 6)),
            ErrorCode::kOk);
  fabric::Completion completion;
  while (b.queue->Read({&completion, 1}).count == 0) {
    ASSERT_TRUE(machines.lab.world().WaitUntil(coro::kNever));
  }
  EXPECT_EQ(completion.kind, fabric::OperationKind::kReceive);
  EXPECT_GE(machines.lab.world().timeline().elapsed(), 110us);
  machines.Finish({0});
}

// A doorbell that the thread has not come to is no lost request, and closing finishes it.
TEST(ProcessorsTest, ClosingFinishesWhatWasPosted) {
  Machines machines(RoundFigures());
  machines.Assign(0, machines.AddThread());
  machines.Post(0, 3);
  EXPECT_TRUE(machines.from[0]->endpoint->Close().ok());
  machines.lab.world().timeline().RunFor(50ms);
  machines.lab.world().CheckRequests();
  EXPECT_TRUE(machines.lab.world().findings().empty());
}

TEST(ProcessorsTest, NicsAreSharedOutInTheirOrder) {
  const auto shares = [](std::size_t threads, std::size_t nics) {
    std::vector<std::size_t> sizes;
    std::size_t end = 0;
    for (std::size_t i = 0; i < threads; ++i) {
      const sim::ThreadShare share = sim::ShareOf(i, threads, nics);
      EXPECT_EQ(share.begin, end);
      end = share.end;
      sizes.push_back(share.end - share.begin);
    }
    EXPECT_EQ(end, nics);
    return sizes;
  };
  EXPECT_EQ(shares(1, 5), (std::vector<std::size_t>{5}));
  EXPECT_EQ(shares(3, 8), (std::vector<std::size_t>{2, 3, 3}));
  EXPECT_EQ(shares(3, 2), (std::vector<std::size_t>{0, 1, 1}));
}

TEST(ProcessorsTest, ThreadsAreNearTheirNicsOrFarOrNowhere) {
  sim::Profile profile = RoundFigures();
  profile.numa_crossing = 40us;
  const std::vector<std::size_t> nics = {0, 1};
  const auto work = [&](sim::ThreadPlace place, std::size_t threads) {
    Machines machines(profile);
    EXPECT_TRUE(
        machines.processors().ShareOut(machines.from[0]->node, nics, threads, place, {}).ok());
    EXPECT_EQ(machines.processors().thread_count(), std::min<std::size_t>(threads, 2));
    machines.Post(0);
    return machines.processors().WorkOf(0);
  };
  const coro::Duration near = work(sim::ThreadPlace::kNear, 1);
  EXPECT_GT(work(sim::ThreadPlace::kFar, 1), near);
  EXPECT_GT(work(sim::ThreadPlace::kNowhere, 1), near);
  EXPECT_LT(work(sim::ThreadPlace::kNowhere, 1), work(sim::ThreadPlace::kFar, 1));
  EXPECT_EQ(work(sim::ThreadPlace::kNear, 3), near);  // which has no NIC for one of them
}

// Where a machine does not tell the node of its NICs, a pinned thread is pinned all the same.
TEST(ProcessorsTest, ThreadsArePinnedWhereTheNodeOfANicIsNotKnown) {
  const std::vector<std::size_t> nics = {0, 1};
  const auto work = [&](int numa_node, sim::ThreadPlace place) {
    sim::Profile profile = RoundFigures();
    profile.host.machine_contention = 0.25;
    profile.host.wandering = 4;
    for (auto& nic : profile.nics) nic.numa_node = numa_node;
    Machines machines(std::move(profile));
    EXPECT_TRUE(machines.processors().ShareOut(machines.from[0]->node, nics, 2, place, {}).ok());
    machines.Post(0);
    return machines.processors().WorkOf(0);
  };
  const coro::Duration known = work(0, sim::ThreadPlace::kNear);
  EXPECT_EQ(work(-1, sim::ThreadPlace::kNear), known);
  EXPECT_EQ(work(-1, sim::ThreadPlace::kFar), known);  // far from nothing that is known
  EXPECT_GT(work(-1, sim::ThreadPlace::kNowhere), known);
}

TEST(ProcessorsTest, WhatDoesNotExistIsRefused) {
  Machines machines(Small());
  Processors& processors = machines.processors();
  const auto is_bad = [](const auto& result) {
    return result.code() == absl::StatusCode::kInvalidArgument;
  };
  EXPECT_TRUE(is_bad(processors.AddThread(machines.from[0]->node, {.numa_node = 2}).status()));
  EXPECT_TRUE(is_bad(processors.AddThread(machines.from[0]->node, {.numa_node = -2}).status()));
  const std::size_t thread = machines.AddThread();
  EXPECT_TRUE(is_bad(processors.Assign(machines.from[0]->node, 2, thread)));
  EXPECT_TRUE(is_bad(processors.Assign(machines.from[0]->node, 0, thread + 1)));
  EXPECT_TRUE(is_bad(processors.Assign(machines.to[0]->node, 0, thread)));
  const std::vector<std::size_t> nics = {0, 2};
  EXPECT_TRUE(
      is_bad(processors.ShareOut(machines.from[0]->node, nics, 2, sim::ThreadPlace::kNear, {})));
  sim::Profile one_node = RoundFigures();
  one_node.numa_cpus.resize(1);
  for (auto& nic : one_node.nics) nic.numa_node = 0;
  Machines narrow(one_node, 1);
  EXPECT_TRUE(is_bad(narrow.processors().ShareOut(narrow.from[0]->node, {nics.data(), 1}, 1,
                                                  sim::ThreadPlace::kFar, {})));
}

TEST(ProcessorsTest, ThreadsAreRefusedOnTheMachinesClock) {
  Lab lab(1, Small(), sim::ClockKind::kReal);
  Side& side = lab.Add("a");
  const std::vector<std::size_t> nics = {0};
  EXPECT_EQ(
      lab.world().processors().ShareOut(side.node, nics, 1, sim::ThreadPlace::kNear, {}).code(),
      absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace drydock::sim_testing
