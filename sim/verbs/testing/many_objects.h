// Makes objects until there are no more, for tests of a device's limits.

#ifndef DRYDOCK_SIM_VERBS_TESTING_MANY_OBJECTS_H_
#define DRYDOCK_SIM_VERBS_TESTING_MANY_OBJECTS_H_

#include <cerrno>
#include <cstddef>
#include <functional>
#include <vector>

#include "gtest/gtest.h"

namespace drydock::sim_testing {

// Calls `make` until it gives null, at most `most` times; `end` destroys the objects. Returns how
// many there were; errno is that of the last one.
template <typename Thing>
std::size_t MakeMany(std::size_t most, const std::function<Thing*()>& make,
                     const std::function<int(Thing*)>& end) {
  std::vector<Thing*> things;
  int error = 0;
  while (things.size() < most) {
    Thing* thing = make();
    error = errno;
    if (thing == nullptr) break;
    things.push_back(thing);
  }
  for (Thing* thing : things) EXPECT_EQ(end(thing), 0);
  errno = error;
  return things.size();
}

}  // namespace drydock::sim_testing

#endif  // DRYDOCK_SIM_VERBS_TESTING_MANY_OBJECTS_H_
