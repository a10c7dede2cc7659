// How near the devices of a machine are to each other, and which belong together because of it.
// Pure functions of a Machine; thread-safe.

#ifndef DRYDOCK_GPU_TOPOLOGY_LOCALITY_H_
#define DRYDOCK_GPU_TOPOLOGY_LOCALITY_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "drydock/gpu/topology/machine.h"

namespace drydock::gpu::topology {

// What data passes between two devices, the nearest first. `nvidia-smi topo -m` calls them PIX or
// PXB, PHB, NODE, and SYS.
enum class Locality : std::uint8_t {
  kSameSwitch,      // PCIe switches only: peer-to-peer traffic stays below the CPU
  kSameHostBridge,  // the host bridge
  kSameNumaNode,    // several host bridges of one NUMA node
  kOther,           // the link between NUMA nodes, or the machine does not tell
};

// "same switch", "same host bridge", "same NUMA node", "other".
absl::string_view NameOf(Locality locality);

Locality LocalityOf(const Machine& machine, const Device& a, const Device& b);

// The NICs than which none is nearer to a GPU. Of several switches that two devices share, the
// lowest counts.
struct NearNics {
  Locality locality = Locality::kOther;
  std::vector<int> nics;  // indices in Machine::nics, ascending; empty: the machine has no NIC

  bool operator==(const NearNics&) const = default;
};
NearNics NearestNics(const Machine& machine, const Device& gpu);

// The NICs that each GPU should use, by index of the GPU. GPUs with the same nearest NICs share
// them evenly: two GPUs and four NICs on a switch are two NICs for each, the first two for the
// first GPU. Where there are fewer NICs than GPUs, GPUs share one.
std::vector<std::vector<int>> PairNics(const Machine& machine);

// The CPUs of a device's NUMA node; all of the machine's where that is not told.
CpuList NearestCpus(const Machine& machine, const Device& device);

// The CPUs that should serve each NIC, by index of the NIC. NICs with the same nearest CPUs share
// them evenly (SplitCpus).
std::vector<CpuList> ShareCpus(const Machine& machine);

}  // namespace drydock::gpu::topology

#endif  // DRYDOCK_GPU_TOPOLOGY_LOCALITY_H_
