#include "drydock/apps/gpuloc/outline.h"

#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "drydock/apps/common/units.h"

namespace drydock::apps::gpuloc {
namespace {

using gpu::topology::Bridge;
using gpu::topology::Device;
using gpu::topology::FormatCpuList;
using gpu::topology::Machine;
using gpu::topology::NumaNode;

// What is right below `bridge`; without one (-1), what is at the top of a NUMA node.
std::vector<Outline> Below(const Machine& machine, int bridge, int numa_node) {
  std::vector<Outline> children;
  const auto add_devices = [&](Kind kind, const std::vector<Device>& devices) {
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const Device& device = devices[i];
      if (device.bridge != bridge || (bridge < 0 && device.numa_node != numa_node)) continue;
      children.push_back({kind, static_cast<int>(i), -1, {}});
    }
  };
  add_devices(Kind::kGpu, machine.gpus);
  add_devices(Kind::kNic, machine.nics);
  for (std::size_t i = 0; i < machine.bridges.size(); ++i) {
    const Bridge& child = machine.bridges[i];
    if (child.parent != bridge || (bridge < 0 && child.numa_node != numa_node)) continue;
    std::vector<Outline> below = Below(machine, static_cast<int>(i), numa_node);
    const bool stands_for_both =
        !child.is_switch() && below.size() == 1 && below.front().kind == Kind::kBridge;
    if (stands_for_both) {
      children.push_back(std::move(below.front()));
      children.back().host_bridge = static_cast<int>(i);
    } else {
      children.push_back({Kind::kBridge, static_cast<int>(i), -1, std::move(below)});
    }
  }
  return children;
}

std::string BridgeTitle(const Machine& machine, const Outline& outline) {
  const Bridge& bridge = machine.bridges[outline.index];
  if (!bridge.is_switch()) return absl::StrCat("host bridge ", bridge.buses);
  std::string title = absl::StrCat("switch ", bridge.upstream_port);
  if (outline.host_bridge >= 0) {
    absl::StrAppend(&title, " on host bridge ", machine.bridges[outline.host_bridge].buses);
  }
  if (bridge.upstream_gbytes_per_s > 0) {
    absl::StrAppend(&title, ", ", FormatGbytesPerSecond(bridge.upstream_gbytes_per_s),
                    " to the CPU");
  }
  return title;
}

std::string NodeTitle(const NumaNode& node) {
  std::string title = absl::StrCat("NUMA node ", node.number, ": CPUs ", FormatCpuList(node.cpus));
  if (node.memory_bytes > 0) absl::StrAppend(&title, ", ", FormatBytes(node.memory_bytes));
  return title;
}

}  // namespace

Outline OutlineOf(const Machine& machine) {
  Outline root;
  for (std::size_t i = 0; i < machine.numa_nodes.size(); ++i) {
    root.children.push_back({Kind::kNumaNode, static_cast<int>(i), -1,
                             Below(machine, -1, machine.numa_nodes[i].number)});
  }
  for (Outline& loose : Below(machine, -1, -1)) root.children.push_back(std::move(loose));
  return root;
}

std::string SummaryOf(const Machine& machine) {
  return absl::StrCat(FormatCount(machine.gpus.size(), "GPU"), ", ",
                      FormatCount(machine.nics.size(), "NIC"), " with RDMA, ",
                      FormatCount(machine.cpus.size(), "CPU"));
}

std::string FormatGbytesPerSecond(double gbytes_per_s) {
  return absl::StrFormat("%.1f GB/s", gbytes_per_s);
}

std::string TitleOf(const Machine& machine, const Outline& outline) {
  switch (outline.kind) {
    case Kind::kMachine:
      return machine.name.empty() ? "machine" : machine.name;
    case Kind::kNumaNode:
      return NodeTitle(machine.numa_nodes[outline.index]);
    case Kind::kBridge:
      return BridgeTitle(machine, outline);
    case Kind::kGpu:
      return absl::StrCat("GPU ", outline.index);
    case Kind::kNic:
      return absl::StrCat("NIC ", outline.index);
  }
  return "";
}

}  // namespace drydock::apps::gpuloc
