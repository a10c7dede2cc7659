// The device's counters in the program's own memory: a program waits for a word without a call.

#include "drydock/fabric/counter_memory.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "drydock/sim/testing/lab.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using namespace std::chrono_literals;
using fabric::CounterMemory;
using fabric::CountersInMemory;
using fabric::ErrorCode;
using ::testing::HasSubstr;
using testing_matchers::IsOk;
using testing_matchers::StatusIs;

fabric::MemoryRequest At(std::uint64_t& word) {
  return {.data = reinterpret_cast<std::byte*>(&word), .length_bytes = sizeof word};
}

std::uint64_t Load(std::uint64_t& word) {
  return std::atomic_ref<std::uint64_t>(word).load(std::memory_order_acquire);
}

// Opens b's endpoint anew, with a counter of the writes to its memory.
std::unique_ptr<fabric::Counter> CountWrites(Side& b, const CounterMemory& memory) {
  auto counter = Must(b.domain->power<CountersInMemory>()->OpenCounterIn(memory));
  fabric::EndpointOptions options = b.Parts();
  options.counters.remote_writes = counter.get();
  EXPECT_THAT(b.endpoint->Close(), IsOk());
  b.endpoint = Must(b.domain->OpenEndpoint(options));
  return counter;
}

TEST(CounterMemoryTest, OnlyDevicesWithCountersHaveThePower) {
  Lab without(1, CopyOf("p5"));
  EXPECT_EQ(without.Add("a").domain->power<CountersInMemory>(), nullptr);
  Lab with(1, CopyOf("p5en"));
  EXPECT_NE(with.Add("a").domain->power<CountersInMemory>(), nullptr);
}

TEST(CounterMemoryTest, TheWordRisesWithEachWriteAfterItsBytes) {
  Lab lab(1, CopyOf("p5en"));
  Side& a = lab.Add("a");
  Side& b = lab.Add("b");
  std::uint64_t arrived = 0, failed = 99;  // a program that forgets to clear its word
  const auto counter = CountWrites(b, {.successes = At(arrived), .failures = At(failed)});
  lab.Introduce();
  for (std::size_t i = 0; i < 20000; ++i) a.Bytes(0, 20000)[i] = static_cast<std::byte>(i % 251);
  ASSERT_EQ(a.endpoint->Write(a.WriteTo(b, 0, 20000, 1)), ErrorCode::kOk);
  for (int i = 0; i < 10000 && Load(arrived) == 0; ++i) lab.world().timeline().RunFor(100ns);
  EXPECT_EQ(Load(arrived), 1u);
  EXPECT_THAT(b.Bytes(0, 20000), ::testing::ElementsAreArray(a.Bytes(0, 20000)));
  ASSERT_EQ(a.endpoint->Write(a.WriteTo(b, 0, 8, 2)), ErrorCode::kOk);
  lab.Watch();
  EXPECT_EQ(Load(arrived), 2u);
  EXPECT_EQ(counter->Read(), 2u);
  EXPECT_EQ(counter->ReadErrors(), 0u);
  EXPECT_EQ(Load(failed), 99u);
  EXPECT_THAT(counter->Set(40), IsOk());
  EXPECT_EQ(Load(arrived), 40u);
  EXPECT_EQ(Load(failed), 99u);
  EXPECT_THAT(counter->Add(2), IsOk());
  EXPECT_EQ(Load(arrived), 42u);
}

// As a program does that begins with whatever its memory holds.
TEST(CounterMemoryTest, SettingACounterToTheNumberThatItHasWritesItsWord) {
  Lab lab(1, CopyOf("p5en"));
  std::uint64_t word = 99;
  const auto counter = CountWrites(lab.Add("b"), {.successes = At(word), .failures = {}});
  EXPECT_EQ(Load(word), 99u);
  EXPECT_THAT(counter->Set(0), IsOk());
  EXPECT_EQ(Load(word), 0u);
}

// A program that waits on the word of the successes alone waits for ever.
TEST(CounterMemoryTest, FailuresHaveAWordOfTheirOwn) {
  Lab lab(1, CopyOf("p5en"));
  Side& a = lab.Add("a");
  Side& b = lab.Add("b");
  std::uint64_t written = 0, failed = 0;
  const auto counter = Must(a.domain->power<CountersInMemory>()->OpenCounterIn(
      {.successes = At(written), .failures = At(failed)}));
  fabric::EndpointOptions options = a.Parts();
  options.counters.writes = counter.get();
  EXPECT_THAT(a.endpoint->Close(), IsOk());
  a.endpoint = Must(a.domain->OpenEndpoint(options));
  lab.Introduce();
  fabric::WriteRequest write = a.WriteTo(b, 0, 8, 1);
  ASSERT_EQ(a.endpoint->Write(write), ErrorCode::kOk);
  write.target.key = 0;
  ASSERT_EQ(a.endpoint->Write(write), ErrorCode::kOk);
  lab.Watch();
  EXPECT_EQ(Load(written), 1u);
  EXPECT_EQ(Load(failed), 1u);
}

// The 513th is software's, as libfabric opens it: it opens, and misses operations that make no
// completion. In memory of the program's there is none.
TEST(CounterMemoryTest, ADeviceHas512AndWhatComesThenIsSoftware) {
  Lab lab(1, CopyOf("p5en"));
  Side& a = lab.Add("a");
  Side& b = lab.Add("b");
  std::vector<std::unique_ptr<fabric::Counter>> all;
  for (int i = 0; i < 512; ++i) all.push_back(Must(b.domain->OpenCounter()));
  std::uint64_t word = 0;
  CountersInMemory& power = *b.domain->power<CountersInMemory>();
  EXPECT_THAT(power.OpenCounterIn({.successes = At(word), .failures = {}}).status(),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("512")));
  all.push_back(Must(b.domain->OpenCounter()));
  for (const std::size_t which : {std::size_t{511}, std::size_t{512}}) {
    fabric::EndpointOptions options = b.Parts();
    options.counters.remote_writes = all[which].get();
    EXPECT_THAT(b.endpoint->Close(), IsOk());
    b.endpoint = Must(b.domain->OpenEndpoint(options));
    lab.Introduce();
    ASSERT_EQ(a.endpoint->Write(a.WriteTo(b, 0, 8, 1)), ErrorCode::kOk);
    lab.Watch();
  }
  EXPECT_EQ(all[511]->Read(), 1u);
  EXPECT_EQ(all[512]->Read(), 0u);
  all.erase(all.begin());  // and one is free
  EXPECT_THAT(power.OpenCounterIn({.successes = At(word), .failures = {}}), IsOk());
}

TEST(CounterMemoryTest, NumbersWrapAfterTheDevicesGreatest) {
  Lab lab(1, CopyOf("p5en"));
  Side& a = lab.Add("a");
  Side& b = lab.Add("b");
  std::uint64_t word = 0;
  const auto counter = CountWrites(b, {.successes = At(word), .failures = {}});
  lab.Introduce();
  EXPECT_THAT(counter->Set((std::uint64_t{1} << 31) - 1), IsOk());
  ASSERT_EQ(a.endpoint->Write(a.WriteTo(b, 0, 8, 1)), ErrorCode::kOk);
  lab.Watch();
  EXPECT_EQ(Load(word), 0u);
}

TEST(CounterMemoryTest, AWordThatIsNoneIsRefused) {
  Lab lab(1, CopyOf("p5en"));
  CountersInMemory& power = *lab.Add("a").domain->power<CountersInMemory>();
  std::uint64_t words[2] = {};
  const auto refused = [&](fabric::MemoryRequest word) {
    return power.OpenCounterIn({.successes = word, .failures = {}}).status().code();
  };
  constexpr auto kCode = absl::StatusCode::kInvalidArgument;
  fabric::MemoryRequest word = At(words[0]);
  word.length_bytes = 4;
  EXPECT_EQ(refused(word), kCode);
  word = At(words[0]);
  word.data += 4;
  EXPECT_EQ(refused(word), kCode);
  word = At(words[0]);
  word.dmabuf = fabric::DmabufHandle{.fd = 0, .offset_bytes = 0};
  EXPECT_EQ(refused(word), kCode);
  word = At(words[0]);
  word.kind = fabric::MemoryKind::kStandIn;  // there is no such device
  EXPECT_EQ(refused(word), kCode);
}

}  // namespace
}  // namespace drydock::sim_testing
