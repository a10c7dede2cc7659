// The most that a program needs of its NICs, and NICs that have hardly more than that.

#ifndef DRYDOCK_SIM_EXPLORE_NEEDS_H_
#define DRYDOCK_SIM_EXPLORE_NEEDS_H_

#include <cstdint>

#include "drydock/sim/profile/profile.h"

namespace drydock::sim::explore {

// Of one NIC, at the same time. A program that asks for more than it says has a leak, or is wrong
// about itself.
struct Needs {
  std::uint64_t registrations = 0;
  std::uint64_t address_handles = 0;
  std::uint64_t completion_queues = 1;
  std::uint64_t completions = 0;  // that a queue holds while the program does not read
};

// A copy of `profile` whose NICs have the needed numbers, and of each up to two more, or twice the
// completions: a function of the seed. Never more than `profile` has.
Profile WithLittleMore(const Profile& profile, const Needs& needs, std::uint64_t seed);

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_NEEDS_H_
