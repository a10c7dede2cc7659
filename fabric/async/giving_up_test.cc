// A program with every kind of operation in flight is destroyed, cancelled or timed out at each
// point of its life in turn. Wherever that is: it does not go on, its buffers are the NIC's until
// the NIC is done with them, and free after that, and in the end nothing is left.

#include <chrono>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "drydock/coro/event_loop.h"
#include "drydock/coro/scope.h"
#include "drydock/coro/selector.h"
#include "drydock/coro/sleep.h"
#include "drydock/coro/timeout.h"
#include "drydock/coro/when_all.h"
#include "drydock/fabric/async/async_endpoint.h"
#include "drydock/sim/cluster/two_nodes.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::fabric::async {
namespace {

using coro::Task;
using ::drydock::testing_matchers::IsOk;
using std::chrono::nanoseconds;

enum class Way { kDestroy, kCancel, kTimeOut };

std::string NameOf(Way way) {
  return way == Way::kDestroy ? "destroyed" : way == Way::kCancel ? "cancelled" : "timed out";
}

// Notes the times at which the loop looks around: between two of them the program stands still.
class Turns final : public coro::Selector {
 public:
  explicit Turns(coro::EventLoop& loop) : loop_(loop), start_(loop.clock().Now()) {
    loop_.AddSelector(*this);
  }
  ~Turns() override { loop_.RemoveSelector(*this); }

  std::size_t Poll(std::size_t) override {
    times_.insert(loop_.clock().Now() - start_);
    return 0;
  }
  const std::set<nanoseconds>& times() const { return times_; }

 private:
  coro::EventLoop& loop_;
  const coro::Time start_;
  std::set<nanoseconds> times_;
};

// Two nodes, and buffers whose shares can be counted.
class Life {
 public:
  explicit Life(nanoseconds cut) : cut_(cut) {
    for (BufferRef& buffer : local_) buffer = nodes_.a.Allocate(1 << 12).value();
    for (BufferRef& buffer : remote_) buffer = nodes_.b.Allocate(1 << 12).value();
  }

  // Lives for `cut`, is given up, and the NICs are given time. True when it had ended by itself.
  bool Run(Way way) {
    EXPECT_THAT(nodes_.loop.Run(Main(way)), IsOk());
    return finished_;
  }

  // Shares in the buffers beside the test's own.
  std::size_t shares() const {
    std::size_t shares = 0;
    for (const BufferRef& buffer : local_) shares += buffer.use_count() - 1;
    for (const BufferRef& buffer : remote_) shares += buffer.use_count() - 1;
    return shares;
  }
  const std::set<nanoseconds>& turns() const { return turns_.times(); }
  std::size_t in_flight() const {
    return nodes_.a.dispatcher().slots().in_flight() + nodes_.b.dispatcher().slots().in_flight();
  }

 private:
  Task<absl::Status> Transfer() {
    std::vector<Task<Completion>> all;
    all.push_back(Send());
    all.push_back(Receive());
    all.push_back(Write());
    all.push_back(Read());
    const std::vector<Completion> ends = co_await coro::WhenAll(std::move(all));
    EXPECT_FALSE(given_up_) << "goes on after it was given up";
    for (const Completion& end : ends) EXPECT_TRUE(end.ok());
    finished_ = true;
    co_return absl::OkStatus();
  }

  Completion Ended(const Completion& completion) const {
    EXPECT_FALSE(given_up_) << "goes on after it was given up";
    return completion;
  }
  Task<Completion> Send() {
    co_return Ended(co_await nodes_.a.endpoint().Send(local_[0], nodes_.a.peer(1)));
  }
  Task<Completion> Receive() { co_return Ended(co_await nodes_.b.endpoint().Recv(remote_[0])); }
  Task<Completion> Write() {
    co_return Ended(co_await nodes_.a.endpoint().Write(local_[1], remote_[1]->region().remote(),
                                                       nodes_.a.peer(1), {.immediate = 3}));
  }
  Task<Completion> Read() {
    co_return Ended(co_await nodes_.a.endpoint().Read(local_[2], remote_[1]->region().remote(),
                                                      nodes_.a.peer(1)));
  }

  Task<> Main(Way way) {
    std::optional<coro::Scope> scope(std::in_place);
    if (way == Way::kTimeOut) {
      const absl::Status status = co_await coro::WithDeadline(nodes_.loop.Now() + cut_, Transfer());
      given_up_ = true;
      EXPECT_EQ(status.ok(), finished_) << status;
    } else {
      scope->Spawn(Transfer());
      co_await coro::Sleep(cut_);
      given_up_ = true;
      if (way == Way::kCancel) {
        scope->Cancel();
        const absl::Status joined = co_await scope->Join();
        EXPECT_THAT(joined, IsOk());
        // Two phases: what the NIC had to complete has completed.
        EXPECT_EQ(nodes_.a.dispatcher().slots().abandoned(), 0u);
      }
    }
    scope.reset();
    EXPECT_EQ(shares(), in_flight()) << "each operation that the NIC has keeps its buffer";
    co_await coro::Sleep(std::chrono::milliseconds(1));
  }

  const nanoseconds cut_;
  sim::TwoNodes nodes_;
  Turns turns_{nodes_.loop};
  BufferRef local_[3];
  BufferRef remote_[2];
  bool given_up_ = false;
  bool finished_ = false;
};

// Before, in and after each turn of a life that is not cut short, and every 100 ns, because the
// NICs go on between turns.
std::set<nanoseconds> AllPoints() {
  constexpr nanoseconds kUncut(1'000'000);
  Life whole(kUncut);
  EXPECT_TRUE(whole.Run(Way::kDestroy));
  std::set<nanoseconds> points;
  nanoseconds end(0);
  for (const nanoseconds turn : whole.turns()) {
    if (turn >= kUncut) break;
    end = turn;
    for (const nanoseconds point : {turn - nanoseconds(1), turn, turn + nanoseconds(1)}) {
      if (point >= nanoseconds(0)) points.insert(point);
    }
  }
  for (nanoseconds point(0); point < end; point += nanoseconds(100)) points.insert(point);
  return points;
}

class GivingUpTest : public ::testing::TestWithParam<Way> {};

TEST_P(GivingUpTest, AtAnyPointLeavesNothing) {
  bool finished = false;
  const std::set<nanoseconds> points = AllPoints();
  for (const nanoseconds cut : points) {
    SCOPED_TRACE(NameOf(GetParam()) + " after " + std::to_string(cut.count()) + " ns");
    Life life(cut);
    const bool had_time = finished;
    finished = life.Run(GetParam());
    EXPECT_TRUE(finished || !had_time) << "alive again";
    // Only the receive that no message came for may be left: its buffer is the NIC's.
    EXPECT_EQ(life.shares(), life.in_flight());
    EXPECT_LE(life.in_flight(), finished ? 0u : 1u);
    if (HasFailure()) break;
  }
  EXPECT_TRUE(finished) << "the last point comes too early";
  EXPECT_GT(points.size(), 150u) << "too few points to say anything";
}

INSTANTIATE_TEST_SUITE_P(Ways, GivingUpTest,
                         ::testing::Values(Way::kDestroy, Way::kCancel, Way::kTimeOut),
                         [](const auto& way) {
                           return way.param == Way::kDestroy  ? "Destroy"
                                  : way.param == Way::kCancel ? "Cancel"
                                                              : "TimeOut";
                         });

}  // namespace
}  // namespace drydock::fabric::async
