#include "drydock/apps/common/writer_pool.h"

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "drydock/coro/event_loop.h"
#include "drydock/coro/scope.h"
#include "drydock/coro/sleep.h"
#include "drydock/fabric/async/node.h"
#include "drydock/sim/driver/sim_fabric.h"
#include "drydock/sim/world/world.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::apps {
namespace {

using namespace std::chrono_literals;
using ::drydock::testing_matchers::IsOk;
using ::drydock::testing_matchers::StatusIs;
using ::testing::HasSubstr;

using MaybeLease = absl::StatusOr<WriterPool::Lease>;

class WriterPoolTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kMost = 2;

  void SetUp() override { ASSERT_THAT(pool_.Prepare(), IsOk()); }

  coro::Time In(coro::Duration delay) { return coro::After(loop_.Now(), delay); }

  sim::World world_{1, **sim::FindProfile("small")};
  std::unique_ptr<fabric::Fabric> fabric_ = sim::OpenSimFabric(world_, world_.AddNode("server"));
  coro::EventLoop loop_{world_};
  std::unique_ptr<fabric::async::Node> node_ =
      fabric::async::Node::Open(loop_, *fabric_, 0).value();
  WriterPool pool_{
      *node_,
      {.regions = 2, .region_bytes = 4096, .most = kMost, .allocate = [this](std::size_t bytes) {
         return node_->Allocate(bytes);
       }}};
};

TEST_F(WriterPoolTest, LendsTheSameMemoryAgain) {
  auto main = [this]() -> coro::Task<void> {
    const std::byte* first = nullptr;
    for (int i = 0; i < 3; ++i) {
      const MaybeLease lease = co_await pool_.Borrow(In(1s));
      EXPECT_THAT(lease, IsOk());
      const std::byte* const bytes = lease->region(0)->bytes().data();
      if (first == nullptr) first = bytes;
      EXPECT_EQ(bytes, first);
      EXPECT_NE(bytes, lease->region(1)->bytes().data());
    }
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
}

TEST_F(WriterPoolTest, WaitsForALeaseToEnd) {
  auto main = [this]() -> coro::Task<void> {
    const MaybeLease kept = co_await pool_.Borrow(In(1s));
    std::optional<MaybeLease> returned(co_await pool_.Borrow(In(1s)));
    EXPECT_NE(kept->region(0)->bytes().data(), (*returned)->region(0)->bytes().data());
    auto give_back = [&]() -> coro::Task<absl::Status> {
      co_await coro::Sleep(10ms);
      returned.reset();
      co_return absl::OkStatus();
    };
    coro::Scope background;
    background.Spawn(give_back());
    const coro::Time start = loop_.Now();
    const MaybeLease late = co_await pool_.Borrow(In(1s));
    EXPECT_THAT(late, IsOk());
    EXPECT_GE(loop_.Now() - start, 10ms);
    EXPECT_LT(loop_.Now() - start, 11ms);
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
}

TEST_F(WriterPoolTest, StopsWaitingAtTheDeadline) {
  auto main = [this]() -> coro::Task<void> {
    const MaybeLease one = co_await pool_.Borrow(In(1s));
    const MaybeLease two = co_await pool_.Borrow(In(1s));
    const coro::Time start = loop_.Now();
    const MaybeLease three = co_await pool_.Borrow(In(1s));
    EXPECT_THAT(three,
                StatusIs(absl::StatusCode::kResourceExhausted,
                         HasSubstr("it serves 2 transfers at a time, and 0 of them are held")));
    EXPECT_GE(loop_.Now() - start, 1s);
    EXPECT_LT(loop_.Now() - start, 1001ms);
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
}

// The end of a write that was given up tells nobody: the one that waits looks now and then.
TEST_F(WriterPoolTest, MemoryThatIsFreeAgainIsLentToTheOneThatWaits) {
  auto main = [this]() -> coro::Task<void> {
    const MaybeLease kept = co_await pool_.Borrow(In(1s));
    fabric::async::BufferRef write;
    {
      const MaybeLease lease = co_await pool_.Borrow(In(1s));
      write = lease->region(0);
    }
    auto end = [&]() -> coro::Task<absl::Status> {
      co_await coro::Sleep(25ms);
      write.reset();
      co_return absl::OkStatus();
    };
    coro::Scope background;
    background.Spawn(end());
    const coro::Time start = loop_.Now();
    const MaybeLease late = co_await pool_.Borrow(In(1s));
    EXPECT_THAT(late, IsOk());
    EXPECT_GE(loop_.Now() - start, 25ms);
    EXPECT_LT(loop_.Now() - start, 50ms);
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
}

// A share in a region stands for a write that was given up and may still read it.
TEST_F(WriterPoolTest, MemoryInUseIsNotLentUntilItIsFree) {
  auto main = [this]() -> coro::Task<void> {
    std::vector<fabric::async::BufferRef> writes;
    for (std::size_t i = 0; i < kMost; ++i) {
      const MaybeLease lease = co_await pool_.Borrow(In(1s));
      EXPECT_THAT(lease, IsOk());
      writes.push_back(lease->region(i));
    }
    EXPECT_EQ(pool_.CountStuck(), 2u);
    const coro::Time start = loop_.Now();
    const MaybeLease refused = co_await pool_.Borrow(In(1s));
    EXPECT_THAT(refused,
                StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("2 of them are held")));
    EXPECT_EQ(loop_.Now(), start);  // nothing would be given back
    writes.pop_back();
    EXPECT_EQ(pool_.CountStuck(), 1u);
    const MaybeLease lent = co_await pool_.Borrow(In(1s));
    EXPECT_THAT(lent, IsOk());
    EXPECT_NE(lent->region(0), writes[0]);
    EXPECT_EQ(pool_.CountStuck(), 1u);
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
}

}  // namespace
}  // namespace drydock::apps
