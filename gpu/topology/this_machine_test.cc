// hwloc on the machine that runs the tests, whatever it has, and what hwloc says to our XML.

#include "drydock/gpu/topology/this_machine.h"

#include <hwloc.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <type_traits>

#include "drydock/gpu/topology/hwloc_xml.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::gpu::topology {
namespace {

TEST(ThisMachineTest, HasCpusAndKnownPlaces) {
  ASSERT_OK_AND_ASSIGN(const Machine machine, DiscoverThisMachine());
  EXPECT_GT(machine.cpus.size(), 0u);
  EXPECT_LE(machine.cpus.size(), static_cast<std::size_t>(sysconf(_SC_NPROCESSORS_CONF)));
  for (const auto* devices : {&machine.gpus, &machine.nics}) {
    for (const Device& device : *devices) {
      EXPECT_LT(device.bridge, static_cast<int>(machine.bridges.size())) << device.pci_address;
    }
  }
}

// Elsewhere only our own reader is asked.
TEST(ThisMachineTest, HwlocReadsTheXmlThatIsWrittenHere) {
  Machine machine;
  machine.name = "made up";
  machine.cpus = {0, 1, 2, 3};
  machine.numa_nodes = {{.number = 0, .cpus = {0, 1}, .memory_bytes = 1 << 30},
                        {.number = 1, .cpus = {2, 3}}};
  machine.bridges = {{.buses = "0000:[44-54]", .numa_node = 0},
                     {.parent = 0,
                      .upstream_port = "0000:45:00.0",
                      .buses = "0000:[46-54]",
                      .numa_node = 0,
                      .upstream_gbytes_per_s = 15.75}};
  machine.nics = {{.name = "rdmap79s0",
                   .pci_address = "0000:4f:00.0",
                   .pci_class = "0200",
                   .vendor_device_id = "1d0f:efa1",
                   .bridge = 1,
                   .numa_node = 0}};
  machine.gpus = {{.name = "NVIDIA H100",
                   .pci_address = "0000:97:00.0",
                   .pci_class = "0302",
                   .vendor_device_id = "10de:2330",
                   .bridge = -1,
                   .numa_node = 1}};
  const std::string xml = WriteHwlocXml(machine);

  hwloc_topology_t topology = nullptr;
  ASSERT_EQ(hwloc_topology_init(&topology), 0);
  const std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, decltype(&hwloc_topology_destroy)>
      owner(topology, &hwloc_topology_destroy);
  hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL);
  ASSERT_EQ(hwloc_topology_set_xmlbuffer(topology, xml.c_str(), static_cast<int>(xml.size()) + 1),
            0);
  ASSERT_EQ(hwloc_topology_load(topology), 0) << xml;
  EXPECT_EQ(hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE), 2);
  EXPECT_EQ(hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_BRIDGE), 2);
  hwloc_obj_t nic = hwloc_get_pcidev_by_busidstring(topology, "0000:4f:00.0");
  ASSERT_NE(nic, nullptr);
  EXPECT_EQ(hwloc_get_non_io_ancestor_obj(topology, nic)->os_index, 0u);
  EXPECT_STREQ(nic->io_first_child->name, "rdmap79s0");
  hwloc_obj_t gpu = hwloc_get_pcidev_by_busidstring(topology, "0000:97:00.0");
  ASSERT_NE(gpu, nullptr);
  EXPECT_EQ(hwloc_get_non_io_ancestor_obj(topology, gpu)->os_index, 1u);
}

}  // namespace
}  // namespace drydock::gpu::topology
