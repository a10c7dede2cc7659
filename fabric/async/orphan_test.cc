// Which operations are reported when their endpoint closes, and how: one line for all of a kind and
// a place.

#include "drydock/fabric/async/orphan.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "drydock/coro/event_loop.h"
#include "drydock/coro/report.h"
#include "drydock/coro/scope.h"
#include "drydock/coro/sleep.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/task.h"
#include "drydock/coro/time.h"
#include "drydock/coro/timeout.h"
#include "drydock/fabric/async/async_endpoint.h"
#include "drydock/fabric/async/message_receiver.h"
#include "drydock/fabric/faults/engine.h"
#include "drydock/fabric/faults/plan.h"
#include "drydock/sim/cluster/two_nodes.h"
#include "drydock/testing/harness/under_faults.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::fabric::async {
namespace {

using namespace std::chrono_literals;
using ::drydock::testing_matchers::IsOk;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;

Orphan OrphanOf(OperationKind kind, std::uint64_t bytes, const char* function, coro::Time since) {
  return {.kind = kind,
          .bytes = bytes,
          .awaited = {.file = "a/b.cc", .function = function, .line = 3, .await_line = 5},
          .since = since};
}

TEST(DescribeOrphansTest, OneLineForAllOfAKindAndAPlace) {
  const coro::Time start{1s};
  std::vector<Orphan> orphans;
  for (int i = 0; i < 1000; ++i) {
    orphans.push_back(OrphanOf(OperationKind::kReceive, 8, "Listen", start + i * 1us));
  }
  orphans.push_back(OrphanOf(OperationKind::kWrite, 4096, "Listen", start));
  orphans.push_back(OrphanOf(OperationKind::kReceive, 8, "Other", start + 1999us));
  EXPECT_EQ(Describe(orphans, start + 2ms),
            "1000 receives of 8000 B in all, awaited in Listen (b.cc:3) at line 5, the first given "
            "up 2 ms ago\n"
            "1 receive of 8 B, awaited in Other (b.cc:3) at line 5, given up 1 us ago\n"
            "1 write of 4096 B, awaited in Listen (b.cc:3) at line 5, given up 2 ms ago\n");
  EXPECT_EQ(Describe({}, start), "");
}

class OrphanTest : public ::testing::Test {
 protected:
  OrphanTest() {
    nodes_->loop.set_reporter([this](const std::string& text) { report_ += text; });
  }

  AsyncEndpoint& a() { return nodes_->a.endpoint(); }
  AsyncEndpoint& b() { return nodes_->b.endpoint(); }

  // Nothing that a sends reaches b.
  void CutOff() { nodes_->world.Block(nodes_->cluster.machine(0), nodes_->cluster.machine(1)); }

  coro::Task<absl::Status> Write(coro::Time deadline = coro::kNever) {
    OperationOptions options;
    options.deadline = deadline;
    const Completion done =
        co_await a().Write(local_, remote_->region().remote(), nodes_->a.peer(1), options);
    co_return a().ToStatus(done, "write");
  }
  coro::Task<absl::Status> Receive() {
    const Completion done = co_await b().Recv(remote_);
    co_return b().ToStatus(done, "receive");
  }
  coro::Task<absl::Status> SleepFor(coro::Duration time) {
    co_await coro::Sleep(time);
    co_return absl::OkStatus();
  }

  // Everything ends; what was reported is complete then.
  const std::string& End() {
    local_.reset();
    remote_.reset();
    nodes_.reset();
    return report_;
  }

  std::string report_;
  std::optional<sim::TwoNodes> nodes_{std::in_place};
  BufferRef local_ = nodes_->a.Allocate(4096).value();
  BufferRef remote_ = nodes_->b.Allocate(4096).value();
};

TEST_F(OrphanTest, WhatExpiredAndDidNotCompleteIsReportedOnceWithItsPlace) {
  CutOff();
  EXPECT_FALSE(nodes_->loop.Run(Write(nodes_->loop.Now() + 10us)).ok());
  const std::string address = a().address().ToHex();
  EXPECT_THAT(report_, IsEmpty());
  EXPECT_THAT(a().Close(), IsOk());
  const std::string line =
      "1 write of 4096 B, awaited in Write \\(orphan_test.cc:[0-9]+\\) at line [0-9]+, given up 0 "
      "ns "
      "ago\n";
  const std::string reported = "endpoint " + address +
                               " closes, and operations that nobody waits for have not "
                               "completed:\n" +
                               line;
  EXPECT_THAT(report_, MatchesRegex(reported));
  EXPECT_THAT(a().Close(), IsOk());
  EXPECT_THAT(End(), MatchesRegex(reported)) << "a second time";
}

TEST_F(OrphanTest, WhatCompletesBeforeTheEndIsNotReported) {
  auto main = [&]() -> coro::Task<void> {
    const absl::Status expired = co_await Write(nodes_->loop.Now() + 1ns);
    EXPECT_FALSE(expired.ok());
    EXPECT_EQ(nodes_->a.dispatcher().slots().abandoned(), 1u);
    EXPECT_THAT(nodes_->loop.Describe(), HasSubstr("1 write of 4096 B, awaited in Write"));
    co_await coro::Sleep(1ms);
  };
  EXPECT_THAT(nodes_->loop.Run(main()), IsOk());
  EXPECT_THAT(End(), IsEmpty());
}

TEST_F(OrphanTest, WhatWasDroppedWhileTheLoopWentOnIsReported) {
  CutOff();
  auto main = [&]() -> coro::Task<void> {
    {
      coro::Scope scope;
      for (int i = 0; i < 10; ++i) scope.Spawn(Write());
      scope.Spawn(Receive());
    }
    co_await coro::Sleep(7us);
  };
  EXPECT_THAT(nodes_->loop.Run(main()), IsOk());
  EXPECT_THAT(End(), HasSubstr(":\n1 receive of 4096 B, awaited in Receive (orphan_test.cc:"));
  EXPECT_THAT(report_,
              HasSubstr(":\n10 writes of 40960 B in all, awaited in Write (orphan_test.cc:"));
  EXPECT_THAT(report_, HasSubstr(", the first given up 7."));
}

// A program that ends takes down its tasks and its endpoints: nothing was given up.
TEST_F(OrphanTest, WhatGoesTogetherWithItsEndpointIsNotReported) {
  CutOff();
  auto main = [&]() -> coro::Task<void> {
    coro::Scope scope;
    scope.Spawn(Write());
    scope.Spawn(Receive());
    co_await coro::Sleep(7us);
  };
  EXPECT_THAT(nodes_->loop.Run(main()), IsOk());
  EXPECT_EQ(nodes_->a.dispatcher().slots().abandoned(), 1u);
  EXPECT_THAT(End(), IsEmpty());
}

TEST_F(OrphanTest, WhatIsAwaitedWhenItsEndpointClosesIsNotReported) {
  auto main = [&]() -> coro::Task<void> {
    coro::Scope scope;
    scope.Spawn(Receive());
    co_await coro::Sleep(7us);
    EXPECT_THAT(b().Close(), IsOk());
    const absl::Status received = co_await scope.Join();
    EXPECT_TRUE(absl::IsCancelled(received)) << received;
  };
  EXPECT_THAT(nodes_->loop.Run(main()), IsOk());
  EXPECT_THAT(End(), IsEmpty());
}

TEST_F(OrphanTest, ReceivesThatStandPostedAreNotReported) {
  auto main = [&]() -> coro::Task<void> {
    {
      MessageReceiver receiver(b(), remote_, 16, 64, 16);
      co_await coro::Sleep(7us);
    }
    co_await coro::Sleep(7us);
    EXPECT_EQ(nodes_->b.dispatcher().slots().abandoned(), 16u);
    EXPECT_THAT(nodes_->loop.Describe(), Not(HasSubstr("nobody waits for")));
  };
  EXPECT_THAT(nodes_->loop.Run(main()), IsOk());
  EXPECT_THAT(End(), IsEmpty());
}

TEST_F(OrphanTest, WhatWasNeverPostedIsNotReported) {
  CutOff();
  std::size_t posted = 0;
  auto main = [&]() -> coro::Task<void> {
    {
      coro::Scope scope;
      for (int i = 0; i < 3000; ++i) scope.Spawn(Write());
    }
    posted = nodes_->a.dispatcher().slots().abandoned();
    co_await coro::Sleep(7us);
  };
  EXPECT_THAT(nodes_->loop.Run(main()), IsOk());
  EXPECT_LT(posted, 3000u) << "more than the queue takes";
  EXPECT_THAT(End(), HasSubstr("\n" + std::to_string(posted) + " writes of "));
}

// The NIC has it for longer than the patience of the cancellation; and an operation that ends in
// time is no orphan.
TEST_F(OrphanTest, CancelledOperationIsReportedWhereItDidNotEndInTime) {
  auto main = [&]() -> coro::Task<void> {
    const absl::Status in_time = co_await coro::WithDeadline(nodes_->loop.Now() + 1ns, Write());
    EXPECT_TRUE(absl::IsDeadlineExceeded(in_time));
    EXPECT_EQ(nodes_->a.dispatcher().slots().abandoned(), 0u);
    CutOff();
    const absl::Status cut_off = co_await coro::WithDeadline(nodes_->loop.Now() + 1ns, Write());
    EXPECT_TRUE(absl::IsDeadlineExceeded(cut_off));
  };
  EXPECT_THAT(nodes_->loop.Run(main()), IsOk());
  EXPECT_THAT(End(), HasSubstr(":\n1 write of 4096 B, awaited in Write (orphan_test.cc:"));
}

// What the faults have left of twenty writes, each with a deadline, is what is reported: no more,
// and no less. `losing`: the plan has a rule "lost", and each of its faults leaves one.
coro::Task<absl::Status> TwentyWrites(sim::explore::Trial& trial, bool losing) {
  coro::EventLoop& loop = coro::EventLoop::Current();
  std::string report;
  const coro::ReportTo here([&report](const std::string& text) { report += text; });
  std::size_t left = 0;
  {
    CO_ASSIGN_OR_RETURN(auto machines, harness::OpenNodes(trial, loop, 2));
    AsyncEndpoint& endpoint = machines[0]->endpoint();
    CO_ASSIGN_OR_RETURN(const BufferRef local, machines[0]->Allocate(100));
    CO_ASSIGN_OR_RETURN(const BufferRef remote, machines[1]->Allocate(100));
    for (int i = 0; i < 20; ++i) {
      OperationOptions options;
      options.deadline = coro::After(loop.Now(), 100us);
      co_await endpoint.Write(local, remote->region().remote(), machines[0]->peer(1), options);
    }
    co_await coro::Sleep(1ms);
    left = machines[0]->dispatcher().slots().abandoned();
  }
  if (left == 0) {
    EXPECT_THAT(report, IsEmpty());
  } else {
    EXPECT_THAT(report,
                HasSubstr(":\n" + std::to_string(left) + (left == 1 ? " write" : " writes") +
                          " of " + std::to_string(100 * left) + " B"));
  }
  bool lost = false;
  for (const faults::RuleReport& rule : trial.engine().Report()) {
    if (rule.name != "lost") continue;
    lost = true;
    EXPECT_EQ(left, rule.fired);
  }
  EXPECT_EQ(lost, losing);
  co_return absl::OkStatus();
}

faults::FaultPlan LostCompletions(std::uint64_t seed) {
  faults::FaultPlan plan = harness::LostCompletions(seed);
  plan.rules.back().name = "lost";
  return plan;
}

DD_SEED_TEST(OrphansUnderFaults, LostCompletions,
             {.seeds = 8, .faults = {"LostCompletions", &LostCompletions}}) {
  return TwentyWrites(trial, true);
}
DD_SEED_TEST(OrphansUnderFaults, DroppedPeers,
             {.seeds = 8, .faults = {"DroppedPeers", &harness::DroppedPeers}}) {
  return TwentyWrites(trial, false);
}
DD_SEED_TEST(OrphansUnderFaults, LateCompletions,
             {.seeds = 8, .faults = {"LateCompletions", &harness::LateCompletions}}) {
  return TwentyWrites(trial, false);
}

}  // namespace
}  // namespace drydock::fabric::async
