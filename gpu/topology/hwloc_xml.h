// The XML of hwloc (`lstopo machine.xml`), read and written.

#ifndef DRYDOCK_GPU_TOPOLOGY_HWLOC_XML_H_
#define DRYDOCK_GPU_TOPOLOGY_HWLOC_XML_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drydock/gpu/topology/machine.h"

namespace drydock::gpu::topology {

// More GPUs, NICs or NUMA nodes are refused: no machine has them.
inline constexpr std::size_t kMaxOfEach = 1024;

// Reads the formats of hwloc 1, 2 and 3. Which devices it takes:
//   GPUs: 3D controllers and processing accelerators of any vendor, display controllers of NVIDIA
//         and AMD (others are emulated, or for a screen), AWS Neuron devices;
//   NICs: EFA, InfiniBand, and whatever has an RDMA device in the operating system; where there is
//         EFA, only that: the others of such machines manage NVLink switches.
// A machine without one or the other is a machine. kInvalidArgument: no such XML, or one that is
// damaged; one line that says where.
absl::StatusOr<Machine> ReadHwlocXml(absl::string_view text);

// XML that this reader takes for the same machine, and that hwloc takes too if the machine has at
// least one NUMA node: hwloc knows none without.
std::string WriteHwlocXml(const Machine& machine);

}  // namespace drydock::gpu::topology

#endif  // DRYDOCK_GPU_TOPOLOGY_HWLOC_XML_H_
