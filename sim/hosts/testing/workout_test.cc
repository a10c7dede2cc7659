// Many random operations between two processes, in both byte ways.

#include "drydock/sim/hosts/testing/workout.h"

#include <cstdint>
#include <optional>
#include <string>

#include "drydock/sim/hosts/testing/child_process.h"
#include "drydock/sim/hosts/testing/station.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

constexpr std::uint64_t kOperations = 50000;

class WorkoutTest : public testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(BothWays, WorkoutTest, testing::Bool(), [](const auto& way) {
  return std::string(way.param ? "Across" : "InMessages");
});

TEST_P(WorkoutTest, EveryByteArrives) {
  StationOptions options;
  options.fabric = FreshFabric();
  options.cross_memory = GetParam();
  options.memory_bytes = kWorkoutBytes;
  ChildProcess child([&](Talk& talk) {
    Station station(options);
    PrepareToServe(station);
    talk.Say(station.address());
    station.Introduce(talk.Hear<sim::Gid>());
    talk.Say(true);
    std::optional<WorkoutTally> expected;
    ServeWorkout(station, [&](const WorkoutTally& tally) {
      if (!expected.has_value() && talk.HasNews()) expected = talk.Hear<WorkoutTally>();
      return expected.has_value() && tally.messages == expected->messages &&
             tally.immediates == expected->immediates;
    });
  });
  Station station(options);
  const auto peer = child.talk().Hear<StationAddress>();
  child.talk().Say(station.address().gid);
  child.talk().Hear<bool>();
  child.talk().Say(RunWorkout(station, peer, kOperations, 1));
  EXPECT_EQ(child.Wait(), 0);
  EXPECT_EQ(station.counters().bytes_across > 0, GetParam());
  EXPECT_EQ(station.counters().messages_refused, 0u);
}

}  // namespace
}  // namespace drydock::sim_testing
