#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/printable.h"
#include "drydock/gpu/topology/hwloc_xml.h"
#include "drydock/gpu/topology/pci_device.h"
#include "drydock/gpu/topology/xml.h"

namespace drydock::gpu::topology {
namespace {

constexpr std::size_t kMaxMessage = 160;  // bytes of an error

// osdev_type of what is in /sys/class/infiniband: a number up to hwloc 2, then one of several bits.
constexpr unsigned kOpenFabrics = 3;
constexpr unsigned kOpenFabricsBit = 1u << 5;

absl::Status ErrorAt(const XmlElement& element, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("line ", element.line, ": ", what));
}

// The attribute's value, or empty.
std::string ValueOf(const XmlElement& element, absl::string_view attribute) {
  const std::string* value = element.Find(attribute);
  return value == nullptr ? "" : *value;
}

double GbytesPerSecond(const XmlElement& element) {
  double value = 0;
  return absl::SimpleAtod(ValueOf(element, "pci_link_speed"), &value) && value > 0 && value < 1e6
             ? value
             : 0;
}

// A PCI device, before it is known whether it is of interest: that may be said further down.
struct Candidate {
  Device device;
  bool is_gpu = false;
  bool is_nic = false;
  bool is_efa = false;
  PciAddress address;
};

// Where an element is: what its ancestors and itself say.
struct Place {
  const XmlElement* normal_object = nullptr;  // the nearest that is no I/O object: its CPUs count
  int bridge = -1;                            // index in the machine's bridges
  int device = -1;                            // index in the candidates
  bool is_os_device = false;
};

class Reader {
 public:
  explicit Reader(std::vector<XmlElement> elements)
      : elements_(std::move(elements)), major_(MajorVersion(elements_.front())) {}

  absl::StatusOr<Machine> Run() {
    RETURN_IF_ERROR(CheckRoot());
    places_.resize(elements_.size());
    for (std::size_t i = 0; i < elements_.size(); ++i) {
      const XmlElement& element = elements_[i];
      if (element.parent >= 0) places_[i] = places_[element.parent];
      if (element.name == "object") RETURN_IF_ERROR(ReadObject(element, places_[i]));
      if (element.name == "info") ReadInfo(element, places_[i]);
    }
    if (!has_machine_) return ErrorAt(elements_.front(), "a topology without a machine");
    RETURN_IF_ERROR(KeepDevices());
    return std::move(machine_);
  }

 private:
  // Of the format; that of hwloc 1 has none.
  static int MajorVersion(const XmlElement& root) {
    const std::string version = ValueOf(root, "version");
    int major = 0;
    return absl::SimpleAtoi(version.substr(0, version.find('.')), &major) ? major : 1;
  }

  bool IsOpenFabrics(const XmlElement& element) const {
    unsigned type = 0;
    if (!absl::SimpleAtoi(ValueOf(element, "osdev_type"), &type)) return false;
    return major_ >= 3 ? (type & kOpenFabricsBit) != 0 : type == kOpenFabrics;
  }

  absl::Status CheckRoot() const {
    const XmlElement& root = elements_.front();
    if (root.name == "topology") return absl::OkStatus();
    if (root.name == "system") {
      return absl::InvalidArgumentError(
          "this is a topology file of NCCL; wanted is one of hwloc, from `lstopo machine.xml`");
    }
    return ErrorAt(root, absl::StrCat("<", root.name, "> is no topology of hwloc"));
  }

  absl::Status ReadObject(const XmlElement& element, Place& place) {
    const std::string type = ValueOf(element, "type");
    if (type == "Bridge") return ReadBridge(element, place);
    if (type == "PCIDev") return ReadPciDevice(element, place);
    if (type == "OSDev") return ReadOsDevice(element, place);
    if (type == "Misc") return absl::OkStatus();
    if (element.Find("cpuset") != nullptr) place.normal_object = &element;
    // In hwloc 1, a machine of one NUMA node may begin with that.
    const bool is_machine = type == "Machine" || (element.parent == 0 && type == "NUMANode");
    if (is_machine) {
      has_machine_ = true;
      ASSIGN_OR_RETURN(machine_.cpus, CpusOf(element));
    }
    return type == "NUMANode" ? ReadNumaNode(element) : absl::OkStatus();
  }

  absl::StatusOr<CpuList> CpusOf(const XmlElement& element) const {
    const std::string mask = ValueOf(element, "cpuset");
    if (mask.empty()) return CpuList();
    absl::StatusOr<CpuList> cpus = ParseCpuMask(mask);
    if (!cpus.ok()) return ErrorAt(element, cpus.status().message());
    return cpus;
  }

  // Memory without CPUs is not listed, nor is more memory beside the same CPUs (high-bandwidth
  // memory, a GPU's).
  absl::Status ReadNumaNode(const XmlElement& element) {
    NumaNode node;
    if (!absl::SimpleAtoi(ValueOf(element, "os_index"), &node.number) || node.number < 0 ||
        node.number >= kMaxCpus) {
      return ErrorAt(element, "a NUMA node without a number");
    }
    ASSIGN_OR_RETURN(node.cpus, CpusOf(element));
    if (!absl::SimpleAtoi(ValueOf(element, "local_memory"), &node.memory_bytes)) {
      node.memory_bytes = 0;
    }
    const bool known = std::any_of(machine_.numa_nodes.begin(), machine_.numa_nodes.end(),
                                   [&](const NumaNode& other) { return other.cpus == node.cpus; });
    if (node.cpus.empty() || known) return absl::OkStatus();
    if (machine_.numa_nodes.size() >= kMaxOfEach) return ErrorAt(element, "too many NUMA nodes");
    machine_.numa_nodes.push_back(std::move(node));
    return absl::OkStatus();
  }

  absl::Status ReadBridge(const XmlElement& element, Place& place) {
    Bridge bridge;
    bridge.parent = place.bridge;
    bridge.buses = fabric::Printable(ValueOf(element, "bridge_pci"));
    // "0-1" is a host bridge, "1-1" one from PCI to PCI.
    if (ValueOf(element, "bridge_type") != "0-1") {
      bridge.upstream_port = absl::AsciiStrToLower(ValueOf(element, "pci_busid"));
      RETURN_IF_ERROR(AddressOf(element).status());
      bridge.upstream_gbytes_per_s = GbytesPerSecond(element);
    }
    place.bridge = static_cast<int>(machine_.bridges.size());
    place.device = -1;
    machine_.bridges.push_back(std::move(bridge));
    bridge_places_.push_back(place);
    return absl::OkStatus();
  }

  absl::StatusOr<PciAddress> AddressOf(const XmlElement& element) const {
    absl::StatusOr<PciAddress> address = ParsePciAddress(ValueOf(element, "pci_busid"));
    if (!address.ok()) return ErrorAt(element, address.status().message());
    return address;
  }

  absl::Status ReadPciDevice(const XmlElement& element, Place& place) {
    const absl::StatusOr<PciIdentity> identity = ParsePciType(ValueOf(element, "pci_type"));
    if (!identity.ok()) return ErrorAt(element, identity.status().message());
    Candidate candidate;
    ASSIGN_OR_RETURN(candidate.address, AddressOf(element));
    candidate.is_gpu = IsGpu(*identity);
    candidate.is_nic = IsRdmaNic(*identity);
    candidate.is_efa = IsEfaNic(*identity);
    Device& device = candidate.device;
    device.pci_address = absl::AsciiStrToLower(ValueOf(element, "pci_busid"));
    device.name = candidate.is_gpu ? FormatVendorDeviceId(*identity) : device.pci_address;
    device.pci_class = FormatPciClass(*identity);
    device.vendor_device_id = FormatVendorDeviceId(*identity);
    device.bridge = place.bridge;
    device.pcie_gbytes_per_s = GbytesPerSecond(element);
    place.device = static_cast<int>(candidates_.size());
    place.is_os_device = false;
    candidates_.push_back(std::move(candidate));
    device_places_.push_back(place);
    return absl::OkStatus();
  }

  absl::Status ReadOsDevice(const XmlElement& element, Place& place) {
    place.is_os_device = true;
    if (place.device < 0 || !IsOpenFabrics(element)) return absl::OkStatus();
    Candidate& candidate = candidates_[place.device];
    candidate.is_nic = true;
    candidate.is_gpu = false;
    const std::string name = fabric::Printable(ValueOf(element, "name"));
    if (!name.empty()) candidate.device.name = name;
    return absl::OkStatus();
  }

  // `place` is that of the object around it.
  void ReadInfo(const XmlElement& element, const Place& place) {
    const std::string name = ValueOf(element, "name");
    const std::string value = fabric::Printable(ValueOf(element, "value"));
    if (value.empty()) return;
    if (name == "DMIProductName") machine_.name = value;
    if (place.device < 0 || !candidates_[place.device].is_gpu) return;
    // "NVIDIA H100 80GB HBM3" from the GPU's own driver, rather than "GH100 [H100 SXM5 80GB]".
    if ((name == "PCIDevice" && !place.is_os_device) || name == "GPUModel") {
      candidates_[place.device].device.name = value;
    }
  }

  // The node whose CPUs are those of the object that holds a device, or contain them.
  int NodeOf(const Place& place) {
    if (machine_.numa_nodes.size() == 1) return machine_.numa_nodes.front().number;
    if (place.normal_object == nullptr) return -1;
    const absl::StatusOr<CpuList> cpus = CpusOf(*place.normal_object);
    if (!cpus.ok() || cpus->empty()) return -1;
    for (const NumaNode& node : machine_.numa_nodes) {
      if (std::includes(node.cpus.begin(), node.cpus.end(), cpus->begin(), cpus->end())) {
        return node.number;
      }
    }
    return -1;
  }

  // Beside EFA, other NICs with RDMA carry no data: on p6-b200 and p6-b300 two of them, on the
  // switch of a GPU, are there to manage the NVLink switches.
  void LeaveOutManagement() {
    const bool has_efa = std::any_of(candidates_.begin(), candidates_.end(),
                                     [](const Candidate& other) { return other.is_efa; });
    for (Candidate& candidate : candidates_) {
      if (has_efa && !candidate.is_efa) candidate.is_nic = false;
    }
  }

  absl::Status KeepDevices() {
    LeaveOutManagement();
    std::vector<std::pair<PciAddress, std::size_t>> order;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (candidates_[i].is_gpu || candidates_[i].is_nic) {
        order.emplace_back(candidates_[i].address, i);
      }
    }
    std::sort(order.begin(), order.end());
    for (const auto& [address, i] : order) {
      Device& device = candidates_[i].device;
      device.numa_node = NodeOf(device_places_[i]);
      (candidates_[i].is_gpu ? machine_.gpus : machine_.nics).push_back(std::move(device));
    }
    if (std::max(machine_.gpus.size(), machine_.nics.size()) > kMaxOfEach) {
      return absl::InvalidArgumentError(absl::StrCat("more than ", kMaxOfEach, " GPUs or NICs"));
    }
    KeepBridges();
    return absl::OkStatus();
  }

  // Leaves out what machine.h says, and numbers what is left.
  void KeepBridges() {
    std::vector<Bridge>& bridges = machine_.bridges;
    std::vector<int> below(bridges.size());  // devices and bridges with devices, right below
    for (const auto* devices : {&machine_.gpus, &machine_.nics}) {
      for (const Device& device : *devices) {
        if (device.bridge >= 0) ++below[device.bridge];
      }
    }
    for (std::size_t i = bridges.size(); i-- > 0;) {
      if (below[i] > 0 && bridges[i].parent >= 0) ++below[bridges[i].parent];
    }
    std::vector<Bridge> kept;
    std::vector<int> now(bridges.size());  // new index of each, or of the next one above that stays
    for (std::size_t i = 0; i < bridges.size(); ++i) {
      const int above = bridges[i].parent;
      now[i] = above < 0 ? -1 : now[above];
      if (above >= 0 && below[above] == 1) NarrowTo(bridges[above], bridges[i]);
      if (below[i] == 0 || (bridges[i].is_switch() && below[i] == 1)) continue;
      bridges[i].parent = now[i];
      bridges[i].numa_node = NodeOf(bridge_places_[i]);
      now[i] = static_cast<int>(kept.size());
      kept.push_back(bridges[i]);
    }
    bridges = std::move(kept);
    for (auto* devices : {&machine_.gpus, &machine_.nics}) {
      for (Device& device : *devices) {
        if (device.bridge >= 0) device.bridge = now[device.bridge];
      }
    }
  }

  // Below a bridge that has nothing else: what reaches the CPU passes both.
  static void NarrowTo(const Bridge& above, Bridge& bridge) {
    const double limit = above.upstream_gbytes_per_s;
    double& own = bridge.upstream_gbytes_per_s;
    if (above.is_switch() && limit > 0) own = own > 0 ? std::min(own, limit) : limit;
  }

  const std::vector<XmlElement> elements_;
  const int major_;
  std::vector<Place> places_;  // by element
  std::vector<Candidate> candidates_;
  std::vector<Place> device_places_;  // by candidate
  std::vector<Place> bridge_places_;  // by bridge, as the text has them
  Machine machine_;
  bool has_machine_ = false;
};

}  // namespace

// Messages quote the file, which may hold anything.
absl::StatusOr<Machine> ReadHwlocXml(absl::string_view text) {
  absl::StatusOr<std::vector<XmlElement>> elements = ParseXml(text);
  absl::StatusOr<Machine> machine = elements.ok() ? Reader(*std::move(elements)).Run()
                                                  : absl::StatusOr<Machine>(elements.status());
  if (machine.ok()) return machine;
  const std::string message = fabric::Printable(machine.status().message());
  if (message.size() <= kMaxMessage) return absl::InvalidArgumentError(message);
  return absl::InvalidArgumentError(absl::StrCat(message.substr(0, kMaxMessage), "..."));
}

}  // namespace drydock::gpu::topology
