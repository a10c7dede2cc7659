// A machine as data: its GPUs and NICs, and what lies between them. Made from the running machine
// (this_machine.h), from a file of hwloc's (hwloc_xml.h), or by hand.
//
//   Machine ── NUMA node ── host bridge ── PCIe switch ── GPU, NIC
//
// Only what says how near devices are to each other is here: bridges without a GPU or NIC below
// them are left out, and so are those, but for host bridges, of which only one device, or one other
// bridge, can be reached, such as the ports of a switch.

#ifndef DRYDOCK_GPU_TOPOLOGY_MACHINE_H_
#define DRYDOCK_GPU_TOPOLOGY_MACHINE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "drydock/gpu/topology/cpu_list.h"

namespace drydock::gpu::topology {

// A processor, or a part of one, with the memory that is nearest to it. Memory that has no CPUs of
// its own, such as a GPU's that the system can address, is not listed.
struct NumaNode {
  int number = 0;  // the operating system's
  CpuList cpus;
  std::uint64_t memory_bytes = 0;  // 0: not told
};

struct Bridge {
  int parent = -1;            // index in Machine::bridges, below its own; -1: none
  std::string upstream_port;  // PCI address of a switch's port towards the CPU; empty: host bridge
  std::string buses;          // below it: 0000:[44-54]
  int numa_node = -1;         // number; -1: not told
  // GB/s of a switch's link towards the CPU, each way; 0: not told.
  double upstream_gbytes_per_s = 0;

  bool is_switch() const { return !upstream_port.empty(); }
};

struct Device {
  std::string name;              // of a NIC: rdmap79s0, or its PCI address; of a GPU: its model
  std::string pci_address;       // 0000:4f:00.0
  std::string pci_class;         // 0200
  std::string vendor_device_id;  // 1d0f:efa1
  int bridge = -1;               // the nearest, index in Machine::bridges; -1: not told
  int numa_node = -1;            // number; -1: not told
  double pcie_gbytes_per_s = 0;  // GB/s of its link, each way; 0: not told
};

struct Machine {
  std::string name;  // p5.48xlarge; empty: not told
  CpuList cpus;      // all that programs may use
  std::vector<NumaNode> numa_nodes;
  std::vector<Bridge> bridges;  // a bridge comes after its parent
  std::vector<Device> gpus;     // and other accelerators; by PCI address, as CUDA numbers them with
                                // CUDA_DEVICE_ORDER=PCI_BUS_ID
  std::vector<Device> nics;     // with RDMA; by PCI address
};

}  // namespace drydock::gpu::topology

#endif  // DRYDOCK_GPU_TOPOLOGY_MACHINE_H_
