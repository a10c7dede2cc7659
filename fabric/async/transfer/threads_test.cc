// A thread for each NIC, and for each two.

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "drydock/coro/event_loop.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/async/transfer/engine.h"
#include "drydock/fabric/async/transfer/rail_threads.h"
#include "drydock/testing/harness/transfer_hosts.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::fabric::async::transfer {
namespace {

using namespace std::chrono_literals;
using ::drydock::testing_matchers::IsOk;
using harness::LivePair;

class ThreadsTest : public ::testing::TestWithParam<std::size_t> {};

// The same transfer by two NICs, on none, one and two threads beside the program's.
TEST_P(ThreadsTest, EveryPageArrivesWhoeverWorksForTheNics) {
  constexpr std::uint32_t kPages = 3000;
  constexpr std::uint64_t kPage = 512;
  LivePair pair(/*nics=*/2, /*threads=*/GetParam());
  const MemoryRef from = pair.sender().Filled(kPages * kPage, 5).value();
  const MemoryRef to = pair.receiver().engine().Allocate(kPages * kPage).value();
  pair.Start();
  auto main = [&]() -> coro::Task<absl::Status> {
    CO_ASSIGN_OR_RETURN(const std::uint32_t peer,
                        co_await harness::Introduce(pair.sender(), pair.receiver()));
    CO_ASSIGN_OR_RETURN(const RemoteRef target,
                        pair.sender().engine().Import(peer, to->descriptor()));
    PagesShape shape;
    shape.pages = kPages;
    shape.page_bytes = kPage;
    for (std::uint32_t transfer = 0; transfer < 3; ++transfer) {
      CO_ASSIGN_OR_RETURN(const auto arrived, pair.receiver().engine().Expect(transfer, kPages));
      CO_RETURN_IF_ERROR(
          co_await pair.sender().engine().WritePages(from, target, shape, {.transfer = transfer}));
      const bool all = co_await arrived->Reached(coro::After(pair.loop().Now(), 200s));
      EXPECT_TRUE(all) << arrived->distinct();
      EXPECT_TRUE(harness::Holds(to, 0, kPages * kPage, 5, 0));
    }
    EXPECT_EQ(pair.receiver().engine().arrival_counters().pages, 3 * kPages);
    EXPECT_EQ(pair.receiver().engine().arrival_counters().duplicates, 0u);
    for (std::size_t nic = 0; nic < 2; ++nic) {
      EXPECT_GT(pair.sender().engine().nic_stats(nic).posted_pages, 0u) << "NIC " << nic;
    }
    co_return absl::OkStatus();
  };
  EXPECT_THAT(pair.loop().Run(main()), IsOk());
  pair.Stop();
}

INSTANTIATE_TEST_SUITE_P(Threads, ThreadsTest, ::testing::Values(0, 1, 2));

}  // namespace
}  // namespace drydock::fabric::async::transfer
