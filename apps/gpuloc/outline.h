// A machine as a tree for a person: NUMA nodes, their host bridges and switches, down to the
// devices. The text and the drawing show the same one.

#ifndef DRYDOCK_APPS_GPULOC_OUTLINE_H_
#define DRYDOCK_APPS_GPULOC_OUTLINE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "drydock/gpu/topology/machine.h"

namespace drydock::apps::gpuloc {

enum class Kind : std::uint8_t { kMachine, kNumaNode, kBridge, kGpu, kNic };

struct Outline {
  Kind kind = Kind::kMachine;
  int index = 0;         // in the machine's vector of that kind
  int host_bridge = -1;  // of a switch: the host bridge that it stands for, too; -1: none
  std::vector<Outline> children;
};

// GPUs come before NICs, and both before bridges. A host bridge with nothing but a switch is left
// out: the switch stands for both. What belongs to no NUMA node is right below the machine.
Outline OutlineOf(const gpu::topology::Machine& machine);

// What a person calls it, in one line: "GPU 0", "NUMA node 0: CPUs 0-47, 1000 GiB", "switch
// 0000:45:00.0 on host bridge 0000:[44-54], 15.8 GB/s to the CPU".
std::string TitleOf(const gpu::topology::Machine& machine, const Outline& outline);

// "8 GPUs, 32 NICs with RDMA, 96 CPUs".
std::string SummaryOf(const gpu::topology::Machine& machine);

// "15.8 GB/s".
std::string FormatGbytesPerSecond(double gbytes_per_s);

}  // namespace drydock::apps::gpuloc

#endif  // DRYDOCK_APPS_GPULOC_OUTLINE_H_
