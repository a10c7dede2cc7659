#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "drydock/gpu/topology/hwloc_xml.h"
#include "drydock/gpu/topology/xml.h"

namespace drydock::gpu::topology {
namespace {

class Writer {
 public:
  explicit Writer(const Machine& machine) : machine_(machine) {}

  std::string Run() {
    CpuList nodes;
    for (const NumaNode& node : machine_.numa_nodes) nodes.push_back(node.number);
    std::sort(nodes.begin(), nodes.end());
    Line("<?xml version=\"1.0\" encoding=\"UTF-8\"?>");
    Line("<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">");
    Line("<topology version=\"2.0\">");
    ++depth_;
    Open("Machine", absl::StrCat("os_index=\"0\" ", Sets(machine_.cpus, nodes)));
    if (!machine_.name.empty()) Info("DMIProductName", machine_.name);
    for (std::size_t i = 0; i < machine_.numa_nodes.size(); ++i) {
      WriteNode(machine_.numa_nodes[i], i);
    }
    WriteDevices(-1, -1, 0);
    Close();
    --depth_;
    Line("</topology>");
    return std::move(text_);
  }

 private:
  void Line(absl::string_view line) {
    absl::StrAppend(&text_, std::string(2 * depth_, ' '), line, "\n");
  }
  void Open(absl::string_view type, absl::string_view attributes) {
    Line(absl::StrCat("<object type=\"", type, "\" ", attributes, " gp_index=\"", ++objects_,
                      "\">"));
    ++depth_;
  }
  void Close() {
    --depth_;
    Line("</object>");
  }
  void Info(absl::string_view name, absl::string_view value) {
    Line(absl::StrCat("<info name=\"", name, "\" value=\"", EscapeXml(value), "\"/>"));
  }

  // What hwloc wants of every object that is no I/O object.
  static std::string Sets(const CpuList& cpus, const CpuList& nodes) {
    std::string text;
    for (const char* kind : {"", "complete_", "allowed_"}) {
      absl::StrAppend(&text, kind, "cpuset=\"", FormatCpuMask(cpus), "\" ");
    }
    return absl::StrCat(text, "nodeset=\"", FormatCpuMask(nodes), "\" complete_nodeset=\"",
                        FormatCpuMask(nodes), "\" allowed_nodeset=\"", FormatCpuMask(nodes), "\"");
  }

  void WriteNode(const NumaNode& node, std::size_t package) {
    const std::string sets = Sets(node.cpus, {node.number});
    Open("Package", absl::StrCat("os_index=\"", package, "\" ", sets));
    Open("NUMANode", absl::StrCat("os_index=\"", node.number, "\" ", sets, " local_memory=\"",
                                  node.memory_bytes, "\""));
    Close();
    WriteDevices(node.number, -1, 0);
    Close();
  }

  // What is right below a bridge; without one, what is at the top of a NUMA node.
  void WriteDevices(int numa_node, int bridge, int depth) {
    for (std::size_t i = 0; i < machine_.bridges.size(); ++i) {
      const Bridge& below = machine_.bridges[i];
      if (below.parent != bridge || (bridge < 0 && below.numa_node != numa_node)) continue;
      OpenBridge(below, depth);
      WriteDevices(numa_node, static_cast<int>(i), depth + 1);
      Close();
    }
    for (const auto* devices : {&machine_.nics, &machine_.gpus}) {
      for (const Device& device : *devices) {
        if (device.bridge != bridge || (bridge < 0 && device.numa_node != numa_node)) continue;
        WriteDevice(device, devices == &machine_.nics);
      }
    }
  }

  void OpenBridge(const Bridge& bridge, int depth) {
    std::string attributes =
        absl::StrCat("bridge_type=\"", bridge.is_switch() ? "1-1" : "0-1", "\" depth=\"", depth,
                     "\" bridge_pci=\"", EscapeXml(bridge.buses), "\"");
    if (bridge.is_switch()) {
      absl::StrAppend(&attributes, " pci_busid=\"", EscapeXml(bridge.upstream_port),
                      "\" pci_type=\"0604 [1d0f:0200] [1d0f:0200] 00\"",
                      LinkSpeed(bridge.upstream_gbytes_per_s));
    }
    Open("Bridge", attributes);
  }

  void WriteDevice(const Device& device, bool is_nic) {
    Open("PCIDev", absl::StrCat("pci_busid=\"", EscapeXml(device.pci_address), "\" pci_type=\"",
                                device.pci_class, " [", device.vendor_device_id,
                                "] [0000:0000] 00\"", LinkSpeed(device.pcie_gbytes_per_s)));
    if (is_nic && device.name != device.pci_address) {
      Open("OSDev", absl::StrCat("name=\"", EscapeXml(device.name), "\" osdev_type=\"3\""));
      Close();
    }
    if (!is_nic && device.name != device.vendor_device_id) Info("PCIDevice", device.name);
    Close();
  }

  static std::string LinkSpeed(double gbytes_per_s) {
    return absl::StrFormat(" pci_link_speed=\"%.6f\"", gbytes_per_s);
  }

  const Machine& machine_;
  std::string text_;
  std::size_t depth_ = 0;
  int objects_ = 0;
};

}  // namespace

std::string WriteHwlocXml(const Machine& machine) { return Writer(machine).Run(); }

}  // namespace drydock::gpu::topology
