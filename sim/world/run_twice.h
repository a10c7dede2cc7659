// Whether a program is a function of its seed: runs it twice, and names the first event in which
// the runs differ.
//
//   sim::RunTwice twice;
//   for (int run = 0; run < 2; ++run) {
//     sim::World world(seed, profile);
//     twice.Watch(world);  // before anything is opened
//     ...
//   }
//   if (twice.difference().has_value()) std::cout << *twice.difference();
//
// Runs differ nearly always because of the program: an uninitialised byte, an order taken from
// pointers or from a hash table, the wall clock.

#ifndef DRYDOCK_SIM_WORLD_RUN_TWICE_H_
#define DRYDOCK_SIM_WORLD_RUN_TWICE_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "drydock/sim/events/event_log.h"
#include "drydock/sim/world/world.h"

namespace drydock::sim {

// Not thread-safe. Outlives the worlds that it watches. Takes 48 bytes for each event of the first
// run.
class RunTwice final : public EventListener {
 public:
  // Called once for the world of the first run, then once for the world of the second one.
  void Watch(World& world);

  // Where the second run left the first one, in one line; absent while it follows it. Call it when
  // the second run has ended: one that ends early differs, too.
  std::optional<std::string> difference() const;

  void OnLogged(const LoggedEvent& event) override;

 private:
  std::vector<LoggedEvent> first_;
  int runs_ = 0;
  std::size_t next_ = 0;  // of the second run
  std::optional<std::string> difference_;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_WORLD_RUN_TWICE_H_
