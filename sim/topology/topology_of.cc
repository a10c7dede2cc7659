#include "drydock/sim/topology/topology_of.h"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "drydock/gpu/topology/cpu_list.h"
#include "drydock/gpu/topology/pci_device.h"

namespace drydock::sim {
namespace {

using gpu::topology::Bridge;
using gpu::topology::CpuList;
using gpu::topology::Device;
using gpu::topology::Machine;

// Profiles are part of the program, and a test reads them all: the fallbacks are never used.
unsigned BusOf(const std::string& pci_address) {
  return std::get<1>(
      gpu::topology::ParsePciAddress(pci_address).value_or(gpu::topology::PciAddress()));
}

CpuList CpusOf(const std::string& text) {
  return gpu::topology::ParseCpuList(text).value_or(CpuList());
}

// The common facts of the devices on a switch.
struct Below {
  unsigned first_bus = 0xff;
  unsigned last_bus = 0;
  int numa_node = -1;

  template <typename DeviceProfile>
  void Add(const std::vector<DeviceProfile>& devices, int pcie_switch) {
    for (const DeviceProfile& device : devices) {
      if (device.pcie_switch != pcie_switch) continue;
      first_bus = std::min(first_bus, BusOf(device.pci_address));
      last_bus = std::max(last_bus, BusOf(device.pci_address));
      numa_node = device.numa_node;
    }
  }
};

std::string Buses(unsigned first, unsigned last) {
  return absl::StrFormat("0000:[%02x-%02x]", first, last);
}

// Adds a host bridge, and the switch below it if there is one. On recorded machines the root port
// is on the first bus of the host bridge, the upstream port on the second.
void AddBridges(const Profile& profile, int number, Machine& machine) {
  Below below;
  below.Add(profile.nics, number);
  below.Add(profile.gpus, number);
  const PcieSwitchProfile& pcie_switch = profile.pcie_switches[number];
  Bridge bridge{.buses = Buses(below.first_bus, below.last_bus), .numa_node = below.numa_node};
  if (pcie_switch.upstream_port.empty()) {
    machine.bridges.push_back(std::move(bridge));
    return;
  }
  const unsigned upstream_bus = BusOf(pcie_switch.upstream_port);
  bridge.buses = Buses(upstream_bus - 1, below.last_bus);
  machine.bridges.push_back(std::move(bridge));
  machine.bridges.push_back({.parent = static_cast<int>(machine.bridges.size()) - 1,
                             .upstream_port = pcie_switch.upstream_port,
                             .buses = Buses(upstream_bus + 1, below.last_bus),
                             .numa_node = below.numa_node,
                             .upstream_gbytes_per_s = pcie_switch.upstream_gbytes_per_s});
}

}  // namespace

Machine TopologyOf(const Profile& profile) {
  Machine machine;
  machine.name = profile.aliases.empty() ? profile.name : profile.aliases.front();
  for (const std::string& cpus : profile.numa_cpus) {
    const int number = static_cast<int>(machine.numa_nodes.size());
    machine.numa_nodes.push_back({.number = number, .cpus = CpusOf(cpus)});
    const CpuList& added = machine.numa_nodes.back().cpus;
    machine.cpus.insert(machine.cpus.end(), added.begin(), added.end());
  }
  std::sort(machine.cpus.begin(), machine.cpus.end());
  std::vector<int> bridge_of;  // by number of the switch: the bridge right above its devices
  for (std::size_t i = 0; i < profile.pcie_switches.size(); ++i) {
    AddBridges(profile, static_cast<int>(i), machine);
    bridge_of.push_back(static_cast<int>(machine.bridges.size()) - 1);
  }
  // -1 where the switch is unknown.
  const auto above = [&bridge_of](int pcie_switch) {
    return pcie_switch < 0 ? -1 : bridge_of[pcie_switch];
  };
  for (const NicProfile& nic : profile.nics) {
    machine.nics.push_back({.name = nic.name,
                            .pci_address = nic.pci_address,
                            .pci_class = "0200",
                            .vendor_device_id = profile.vendor_device_id,
                            .bridge = above(nic.pcie_switch),
                            .numa_node = nic.numa_node,
                            .pcie_gbytes_per_s = profile.dma_gbps / 8});
  }
  for (const GpuProfile& gpu : profile.gpus) {
    machine.gpus.push_back({.name = gpu.name,
                            .pci_address = gpu.pci_address,
                            .pci_class = "0302",
                            .vendor_device_id = gpu.vendor_device_id,
                            .bridge = above(gpu.pcie_switch),
                            .numa_node = gpu.numa_node});
  }
  return machine;
}

}  // namespace drydock::sim
