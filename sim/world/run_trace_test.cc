// The trace of a program that closes all its devices and opens them again: two worlds, one after
// the other, on one clock.

#include "drydock/sim/world/run_trace.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "drydock/coro/time.h"
#include "drydock/sim/testing/lab.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using fabric::ErrorCode;

constexpr coro::Duration kLater = std::chrono::seconds(1);

// A world that begins at `began`, with writes of so many bytes.
void RunWorld(sim::Tracer& tracer, coro::Duration began, std::size_t bytes) {
  Lab lab(/*seed=*/3);
  tracer.Begin(lab.world(), nullptr, began);
  Side& a = lab.Add("a");
  Side& b = lab.Add("b");
  lab.Introduce();
  for (std::uint64_t context = 1; context <= 20; ++context) {
    ASSERT_EQ(a.endpoint->Write(a.WriteTo(b, 0, bytes, context)), ErrorCode::kOk);
    EXPECT_TRUE(lab.Take(a, context).ok());
  }
  tracer.End();
}

std::shared_ptr<sim::RunTrace> TraceOf(std::size_t first_bytes, std::size_t second_bytes) {
  auto trace = sim::NewTrace();
  sim::Tracer tracer(*trace);
  RunWorld(tracer, {}, first_bytes);
  RunWorld(tracer, kLater, second_bytes);
  return trace;
}

TEST(RunTraceTest, AllTimesAreOnTheClockOfTheRun) {
  const auto trace = TraceOf(64, 64);
  ASSERT_EQ(trace->operation_count, 40u);
  EXPECT_LT(trace->operations[19].landing, kLater);
  EXPECT_GT(trace->operations[20].fetched, kLater);
  const std::vector<sim::LoggedEvent> events = trace->LastEvents();
  EXPECT_GT(events.front().time, kLater);
  EXPECT_GE(events.back().time, trace->operations[39].landing);
}

TEST(RunTraceTest, AMarkIsOfAllThatHappenedBefore) {
  const auto one = TraceOf(64, 64);
  const auto same = TraceOf(64, 64);
  const auto other = TraceOf(65, 64);
  ASSERT_EQ(one->mark_count, other->mark_count);
  const std::size_t last = one->mark_count - 1;
  EXPECT_EQ(one->marks[last], same->marks[last]);
  EXPECT_EQ(one->marks[last].events, other->marks[last].events);
  EXPECT_NE(one->marks[last].digest, other->marks[last].digest) << "of the first world";
}

}  // namespace
}  // namespace drydock::sim_testing
