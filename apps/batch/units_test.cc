// What the program is made of: how pages are cut up, which NICs are whose, what a peer may say.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/apps/batch/load.h"
#include "drydock/apps/batch/mover.h"
#include "drydock/apps/batch/watch.h"
#include "drydock/apps/batch/wire_messages.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/task.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/async/transfer/engine.h"
#include "drydock/fabric/async/transfer/immediate.h"
#include "drydock/fabric/async/transfer/rail_threads.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/testing/harness/transfer_hosts.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::apps::batch {
namespace {

using ::drydock::testing_matchers::IsOk;
using fabric::async::transfer::RailThreads;

TEST(LoadTest, TransfersCoverAllPagesAndCanBeNumbered) {
  for (const std::uint64_t pages : {1ull, 7ull, 500ull, 5000ull, 100'000'000ull}) {
    for (const std::size_t nics : {1u, 4u, 16u}) {
      Load load;
      load.pages = pages;
      load.nics_per_gpu = nics;
      const std::uint64_t each = PagesOfTransfer(load);
      const std::uint64_t count = TransfersOf(load);
      EXPECT_GE(each * count, load.pages_of_gpu());
      EXPECT_LT(each * (count - 1), load.pages_of_gpu());
      EXPECT_LT(count, fabric::async::transfer::kMostTransfers);  // one is left for the warm-up
      EXPECT_LE(each, fabric::async::transfer::kMostPages);
    }
  }
}

TEST(LoadTest, EveryNicOfAMachineIsOneGpus) {
  for (const sim::Profile& profile : sim::Profiles()) {
    const auto groups = NicsOfGpus(profile, GpuCount(profile), NicsPerGpu(profile));
    ASSERT_THAT(groups, IsOk()) << profile.name;
    std::vector<std::size_t> all;
    for (const auto& group : *groups) all.insert(all.end(), group.begin(), group.end());
    std::sort(all.begin(), all.end());
    EXPECT_EQ(std::unique(all.begin(), all.end()), all.end()) << profile.name;
    EXPECT_EQ(all.size(), GpuCount(profile) * NicsPerGpu(profile)) << profile.name;
  }
}

TEST(LoadTest, GpusThatShareNicsAreAsManyAsTheNics) {
  EXPECT_EQ(GpuCount(**sim::FindProfile("g6")), 1u);
  EXPECT_EQ(GpuCount(**sim::FindProfile("g7e")), 4u);
  EXPECT_EQ(GpuCount(**sim::FindProfile("p5")), 8u);
  const auto refused = NicsOfGpus(**sim::FindProfile("g7e"), 5, 1);
  EXPECT_EQ(refused.status().message(), "--gpus=5: a g7e has 4 with a NIC of its own");
}

TEST(LoadTest, ThreadsHaveEqualSharesOfAllNics) {
  // 8 GPUs of 4 NICs; each thread has a NIC, however many they are.
  for (const std::size_t threads : {1u, 2u, 8u, 20u, 32u}) {
    std::vector<std::size_t> nics(threads);
    for (std::size_t nic = 0; nic < 32; ++nic) ++nics[RailThreads::ThreadOf(nic, 32, threads)];
    const auto [fewest, most] = std::minmax_element(nics.begin(), nics.end());
    EXPECT_GE(*fewest, 1u) << threads;
    EXPECT_LE(*most - *fewest, 1u) << threads;
  }
}

// The warm-up's writes are not pages: until the transfers run, every place is zero.
TEST(MoverTest, TheWarmUpWritesToNoPlace) {
  Load load;
  load.page_bytes = 4096;
  load.pages = 3;
  harness::Cluster hosts(/*hosts=*/2, /*nics=*/1);
  auto main = [&]() -> coro::Task<absl::Status> {
    CO_RETURN_IF_ERROR(co_await hosts.Connect());
    CO_ASSIGN_OR_RETURN(const MemoryRef source, hosts.engine(0).Allocate(MemoryOf(load)));
    CO_ASSIGN_OR_RETURN(const MemoryRef target, hosts.engine(1).Allocate(MemoryOf(load)));
    FillPlaces(source->bytes(), 1, 0);
    CO_ASSIGN_OR_RETURN(const auto receiver, PageReceiver::Expect(hosts.engine(1), target, load));
    PageSender sender(hosts.engine(0), source, hosts.Import(0, 1, target), load);
    const coro::Time deadline = coro::After(hosts.loop.Now(), std::chrono::seconds(10));
    CO_RETURN_IF_ERROR(co_await sender.WarmUp(deadline));
    CO_RETURN_IF_ERROR(co_await receiver->WarmUp(deadline));
    const auto places = target->bytes().first(PlacesOf(load) * load.page_bytes);
    EXPECT_EQ(std::count(places.begin(), places.end(), std::byte{}), std::ssize(places));
    EXPECT_FALSE(receiver->IsComplete(1, 0));
    CO_RETURN_IF_ERROR(co_await sender.Send(deadline));
    CO_RETURN_IF_ERROR(co_await receiver->Receive(deadline));
    EXPECT_TRUE(receiver->IsComplete(1, 0));
    co_return absl::OkStatus();
  };
  EXPECT_THAT(hosts.loop.Run(main()), IsOk());
}

TEST(MoverTest, PlacesDifferAndAreChecked) {
  std::vector<std::byte> memory(1003);
  EXPECT_FALSE(HoldsPlaces(memory, 1, 0));
  FillPlaces(memory, 1, 0);
  EXPECT_TRUE(HoldsPlaces(memory, 1, 0));
  EXPECT_FALSE(HoldsPlaces(memory, 2, 0));
  EXPECT_FALSE(HoldsPlaces(memory, 1, 1));
  for (const std::size_t at : {0, 500, 1002}) {
    memory[at] ^= std::byte{1};
    EXPECT_FALSE(HoldsPlaces(memory, 1, 0)) << at;
    memory[at] ^= std::byte{1};
  }
}

TEST(WatchTest, SteadyRateIsThatOfTheMiddle) {
  BatchResult result;
  result.took = std::chrono::milliseconds(100);
  std::uint64_t bytes = 0;
  for (int i = 1; i <= 100; ++i) {
    bytes += i <= 20 ? 1 : i <= 95 ? 1'000'000 : 1000;  // a slow beginning, a slow end
    result.samples.push_back(
        {.at = std::chrono::milliseconds(i), .bytes = {bytes / 2, bytes - bytes / 2}});
  }
  Load load;
  load.window = 10;
  load.pages = 70;
  EXPECT_NEAR(SteadyGbps(load, result).value_or(0), 8, 0.01);  // 1 MB a millisecond
  load.pages = 69;
  EXPECT_FALSE(SteadyGbps(load, result).has_value());
}

// ---- What a peer says ----

Hello MakeHello() {
  Hello hello;
  hello.load.gpus = 1;
  hello.load.nics_per_gpu = 2;
  hello.seed = 9;
  fabric::async::transfer::PeerDescriptor engine;
  const std::vector<std::uint8_t> first = {1, 2, 3};
  const std::vector<std::uint8_t> second = {4, 5, 6};
  engine.nics = {*fabric::Address::FromBytes(first), *fabric::Address::FromBytes(second)};
  hello.engines.push_back(engine);
  return hello;
}

TEST(WireTest, HelloSurvives) {
  const auto hello = Hello::Parse(MakeHello().Serialize());
  ASSERT_THAT(hello, IsOk());
  EXPECT_EQ(hello->seed, 9u);
  EXPECT_EQ(hello->load.nics_per_gpu, 2u);
  EXPECT_EQ(hello->engines, MakeHello().engines);
}

TEST(WireTest, HelloThatIsCutOrTooLongIsRefused) {
  std::vector<std::byte> bytes = MakeHello().Serialize();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(Hello::Parse(std::span(bytes).first(length)).ok()) << length;
  }
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(Hello::Parse(bytes).ok());
}

TEST(WireTest, HelloThatAsksForTooMuchIsRefused) {
  const std::vector<void (*)(Load&)> changes = {
      [](Load& load) { load.gpus = 0; },
      [](Load& load) { load.gpus = 65; },
      [](Load& load) { load.nics_per_gpu = 0; },
      [](Load& load) { load.nics_per_gpu = 65; },
      [](Load& load) { load.page_bytes = 0; },
      [](Load& load) { load.page_bytes = std::uint64_t{1} << 31; },
      [](Load& load) { load.pages = 0; },
      [](Load& load) { load.pages = std::numeric_limits<std::uint64_t>::max(); },
      [](Load& load) { load.pages = (std::uint64_t{1} << 31) + 1; },
      [](Load& load) { load.burst = 0; },
      [](Load& load) { load.window = 0; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Hello hello = MakeHello();
    changes[i](hello.load);
    EXPECT_FALSE(Hello::Parse(hello.Serialize()).ok()) << i;
  }
}

TEST(WireTest, ReadyAndVerdictSurvive) {
  Ready ready;
  ready.refusal = "no room";
  const auto refused = Ready::Parse(ready.Serialize());
  ASSERT_THAT(refused, IsOk());
  EXPECT_EQ(refused->refusal, "no room");
  // A peer's words are for a person's terminal.
  ready.refusal = absl::StrCat("no\x1b[2J\n", std::string(10, 'x'));
  const auto hostile = Ready::Parse(ready.Serialize());
  ASSERT_THAT(hostile, IsOk());
  EXPECT_EQ(hostile->refusal, "no?[2J?xxxxxxxxxx");
  Verdict verdict;
  verdict.correct = true;
  verdict.duplicates = 3;
  const auto told = Verdict::Parse(verdict.Serialize());
  ASSERT_THAT(told, IsOk());
  EXPECT_TRUE(told->correct);
  EXPECT_EQ(told->duplicates, 3u);
  EXPECT_FALSE(Verdict::Parse({}).ok());
}

}  // namespace
}  // namespace drydock::apps::batch
