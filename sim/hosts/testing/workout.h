// Random operations between two stations, with every byte verified.

#ifndef DRYDOCK_SIM_HOSTS_TESTING_WORKOUT_H_
#define DRYDOCK_SIM_HOSTS_TESTING_WORKOUT_H_

#include <cstddef>
#include <cstdint>
#include <functional>

#include "drydock/sim/hosts/testing/station.h"

namespace drydock::sim_testing {

// The counts of both sides.
struct WorkoutTally {
  std::uint64_t messages = 0;
  std::uint64_t immediates = 0;
};

// Bytes of memory that a station needs for it.
inline constexpr std::size_t kWorkoutBytes = 4 << 20;

// `operations` sends, writes and reads of random lengths, several at the same time; what was
// written is read back. The other side is in ServeWorkout. Any failure fails the test; `seed` is
// named.
WorkoutTally RunWorkout(Station& station, const StationAddress& peer, std::uint64_t operations,
                        std::uint64_t seed);

// Receives and verifies, until `done` holds.
WorkoutTally ServeWorkout(Station& station, const std::function<bool(const WorkoutTally&)>& done);

// Prepares everything that the other side needs before it begins.
void PrepareToServe(Station& station);

}  // namespace drydock::sim_testing

#endif  // DRYDOCK_SIM_HOSTS_TESTING_WORKOUT_H_
