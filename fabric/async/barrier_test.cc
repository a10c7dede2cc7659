#include "drydock/fabric/async/barrier.h"

#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/coro/scope.h"
#include "drydock/coro/sleep.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/when_all.h"
#include "drydock/fabric/async/node.h"
#include "drydock/sim/cluster/two_nodes.h"
#include "drydock/testing/harness/under_faults.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::fabric::async {
namespace {

using namespace std::chrono_literals;
using ::drydock::testing_matchers::IsOk;
using ::drydock::testing_matchers::StatusIs;
using harness::GiveUpTime;
using harness::OpenNodes;

constexpr std::uint32_t kImmediate = 0x700;

TEST(BarrierTest, RoundsAreTheLogarithm) {
  std::vector<std::size_t> rounds;
  for (const std::size_t members : {1, 2, 3, 4, 5, 8, 9})
    rounds.push_back(Barrier::Rounds(members));
  EXPECT_THAT(rounds, ::testing::ElementsAre(0, 1, 2, 2, 3, 3, 4));
}

class TwoMemberBarrierTest : public ::testing::Test {
 protected:
  // Both are there and know each other.
  void Connect() {
    a_.Connect({{}, {nodes_.a.peer(1), b_.flag()}});
    b_.Connect({{nodes_.b.peer(0), a_.flag()}, {}});
  }

  sim::TwoNodes nodes_;
  Barrier a_{nodes_.a.endpoint(), nodes_.a.Allocate(8).value(), {0, 2, kImmediate}};
  Barrier b_{nodes_.b.endpoint(), nodes_.b.Allocate(8).value(), {1, 2, kImmediate}};
};

TEST_F(TwoMemberBarrierTest, NobodyLeavesBeforeTheOtherHasCome) {
  Connect();
  auto main = [&]() -> coro::Task<absl::Status> {
    for (std::uint64_t i = 1; i <= 20; ++i) {
      coro::Scope early;
      Barrier &first = i % 2 == 0 ? a_ : b_, &second = i % 2 == 0 ? b_ : a_;
      early.Spawn(first.Arrive());
      co_await coro::Sleep(1ms);
      EXPECT_EQ(early.running(), 1u) << "arrival " << i;
      CO_RETURN_IF_ERROR(co_await second.Arrive());
      CO_RETURN_IF_ERROR(co_await early.Join());
    }
    co_return absl::OkStatus();
  };
  EXPECT_THAT(nodes_.loop.Run(main()), IsOk());
  EXPECT_EQ(a_.generation(), 20u);
}

TEST_F(TwoMemberBarrierTest, BrokenBarrierStaysBroken) {
  Connect();
  auto main = [&]() -> coro::Task<void> {
    const absl::Status alone = co_await a_.Arrive(nodes_.loop.Now() + 1ms);
    EXPECT_THAT(alone, StatusIs(absl::StatusCode::kDeadlineExceeded));
    EXPECT_EQ(co_await a_.Arrive(), alone);
  };
  EXPECT_THAT(nodes_.loop.Run(main()), IsOk());
}

// It is unknown which members were told of it: another arrival could let a member go too early.
TEST_F(TwoMemberBarrierTest, ArrivalThatWasDestroyedBreaksIt) {
  Connect();
  auto main = [&]() -> coro::Task<void> {
    {
      coro::Scope dropped;
      dropped.Spawn(a_.Arrive());
      EXPECT_THAT(co_await a_.Arrive(), StatusIs(absl::StatusCode::kFailedPrecondition))
          << "twice at a time";
    }
    EXPECT_THAT(co_await a_.Arrive(), StatusIs(absl::StatusCode::kFailedPrecondition));
  };
  EXPECT_THAT(nodes_.loop.Run(main()), IsOk());
}

// ---- Many members, and faults ----

struct Meeting {
  std::vector<std::unique_ptr<Node>> machines;
  std::vector<std::unique_ptr<Barrier>> barriers;
  std::vector<std::uint64_t> arrived;  // by member
};

absl::StatusOr<Meeting> Open(sim::explore::Trial& trial, std::size_t members) {
  Meeting meeting;
  ASSIGN_OR_RETURN(meeting.machines, OpenNodes(trial, coro::EventLoop::Current(), members));
  for (std::size_t i = 0; i < members; ++i) {
    ASSIGN_OR_RETURN(const BufferRef flag, meeting.machines[i]->Allocate(Barrier::kFlagBytes));
    const BarrierOptions options = {i, members, kImmediate};
    meeting.barriers.push_back(
        std::make_unique<Barrier>(meeting.machines[i]->endpoint(), flag, options));
  }
  for (std::size_t i = 0; i < members; ++i) {
    std::vector<BarrierMember> others;
    for (std::size_t j = 0; j < members; ++j) {
      others.push_back(
          {i == j ? kNoPeer : meeting.machines[i]->peer(j), meeting.barriers[j]->flag()});
    }
    meeting.barriers[i]->Connect(std::move(others));
  }
  meeting.arrived.assign(members, 0);
  return meeting;
}

// Some are fast, some are slow, and it is never the same ones.
coro::Task<absl::Status> Attend(Meeting& meeting, std::size_t self, std::uint64_t generations) {
  for (std::uint64_t generation = 1; generation <= generations; ++generation) {
    const std::uint64_t pause = (self * 7 + generation * 5) % 4;
    if (pause > 0) co_await coro::Sleep(pause * 15us);
    meeting.arrived[self] = generation;
    CO_RETURN_IF_ERROR(co_await meeting.barriers[self]->Arrive(GiveUpTime()));
    for (std::size_t other = 0; other < meeting.arrived.size(); ++other) {
      if (meeting.arrived[other] >= generation) continue;
      co_return harness::WrongData(absl::StrCat("member ", self, " left meeting ", generation,
                                                " before member ", other, " had come"));
    }
  }
  co_return absl::OkStatus();
}

coro::Task<absl::Status> Meet(sim::explore::Trial& trial, std::size_t members,
                              std::uint64_t generations) {
  CO_ASSIGN_OR_RETURN(Meeting meeting, Open(trial, members));
  std::vector<coro::Task<absl::Status>> tasks;
  for (std::size_t i = 0; i < members; ++i) tasks.push_back(Attend(meeting, i, generations));
  const std::vector<absl::Status> ends = co_await coro::WhenAll(std::move(tasks));
  absl::Status first;
  for (const absl::Status& end : ends) {
    if (absl::IsDataLoss(end)) co_return end;
    if (first.ok()) first = end;
  }
  co_return first;
}

DD_SEED_TEST(BarrierSizes, OneToNine, {.seeds = 9, .faults = sim::explore::NoFaults()}) {
  return Meet(trial, trial.seed(), 5);
}

coro::Task<absl::Status> MeetUnderFaults(sim::explore::Trial& trial) { return Meet(trial, 4, 6); }

DD_TEST_UNDER_FAULTS(BarrierUnderFaults, MeetUnderFaults);

}  // namespace
}  // namespace drydock::fabric::async
