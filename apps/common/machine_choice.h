// Which machine's topology a program looks at: --topology.
//
// It can be the machine that the program runs on, a file of hwloc's, which holds another machine as
// it was recorded, or one of the simulator's profiles.

#ifndef DRYDOCK_APPS_COMMON_MACHINE_CHOICE_H_
#define DRYDOCK_APPS_COMMON_MACHINE_CHOICE_H_

#include <string>

#include "absl/status/statusor.h"
#include "drydock/gpu/topology/machine.h"

namespace drydock::apps {

// The value of --topology; empty: this machine.
std::string TopologyFromFlags();

struct MachineChoice {
  gpu::topology::Machine machine;
  std::string source;  // "this machine", "profile p5", "file p5.xml"; and its unknown facts
};

// `topology` is empty, "profile:NAME", or the path of a file. Errors: kNotFound for a profile or
// file that does not exist, kInvalidArgument for a file that is no topology of hwloc,
// kUnimplemented for this machine where hwloc was not found when the program was built. The message
// names the profile or file.
absl::StatusOr<MachineChoice> ChooseMachine(const std::string& topology);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_MACHINE_CHOICE_H_
