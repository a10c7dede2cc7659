#include "drydock/apps/blocks/store.h"

#include <chrono>

#include "absl/status/status.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/scope.h"
#include "drydock/coro/virtual_clock.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gtest/gtest.h"

namespace drydock::apps::blocks {
namespace {

using namespace std::chrono_literals;
using ::drydock::testing_matchers::IsOk;
using ::drydock::testing_matchers::StatusIs;

class StoreTest : public ::testing::Test {
 protected:
  coro::VirtualClock clock_;
  coro::EventLoop loop_{clock_};
  Store store_{/*blocks=*/4, /*service=*/1us};
};

TEST_F(StoreTest, KeepsWhatWasWrittenLast) {
  auto main = [&]() -> coro::Task<absl::Status> {
    for (const std::uint64_t version : {1, 3}) {
      const BlockData data{.block = 2, .version = version, .words = WordsOf(2, version)};
      const absl::StatusOr<Written> written = co_await store_.Write(data);
      EXPECT_THAT(written, IsOk());
    }
    const absl::StatusOr<BlockData> read = co_await store_.Read(ReadBlock{2});
    EXPECT_EQ(read->version, 3u);
    EXPECT_EQ(read->words, WordsOf(2, 3));
    co_return absl::OkStatus();
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
}

TEST_F(StoreTest, ReadThatComesDuringAWriteSeesOneVersion) {
  auto write = [&]() -> coro::Task<absl::Status> {
    const BlockData data{.block = 0, .version = 1, .words = WordsOf(0, 1)};
    const absl::StatusOr<Written> written = co_await store_.Write(data);
    co_return written.status();
  };
  auto main = [&]() -> coro::Task<absl::Status> {
    coro::Scope writing;
    writing.Spawn(write());
    const absl::StatusOr<BlockData> read = co_await store_.Read(ReadBlock{0});
    EXPECT_THAT(read, IsOk());
    EXPECT_EQ(read->version, 1u);
    EXPECT_EQ(read->words, WordsOf(0, 1));
    co_return co_await writing.Join();
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
}

TEST_F(StoreTest, RefusesBlocksThatItHasNotAndVersionsThatItHas) {
  auto main = [&]() -> coro::Task<absl::Status> {
    const absl::StatusOr<BlockData> read = co_await store_.Read(ReadBlock{4});
    EXPECT_THAT(read, StatusIs(absl::StatusCode::kOutOfRange));
    const BlockData beyond{.block = 4, .version = 1};
    const absl::StatusOr<Written> nowhere = co_await store_.Write(beyond);
    EXPECT_THAT(nowhere, StatusIs(absl::StatusCode::kOutOfRange));
    const BlockData old{.block = 1, .version = 0};
    const absl::StatusOr<Written> stale = co_await store_.Write(old);
    EXPECT_THAT(stale, StatusIs(absl::StatusCode::kFailedPrecondition));
    co_return absl::OkStatus();
  };
  EXPECT_THAT(loop_.Run(main()), IsOk());
}

}  // namespace
}  // namespace drydock::apps::blocks
