#include "drydock/sim/verbs/sysfs_tree.h"

#include <stdlib.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/capture/bytes_digest.h"
#include "drydock/sim/hosts/private_folder.h"

namespace drydock::sim::verbs {
namespace {

namespace fs = std::filesystem;

absl::Status Unavailable(const fs::path& path, const std::error_code& error) {
  return absl::UnavailableError(absl::StrCat(path.string(), ": ", error.message()));
}

// What is to be written, by name: files and links. Several NICs can be on one bus, and say the same
// of it.
class Tree {
 public:
  void File(const std::string& name, const std::string& text) { files_[name] = text + "\n"; }
  void Bytes(const std::string& name, const std::string& bytes) { files_[name] = bytes; }
  void Link(const std::string& name, const std::string& target) { links_[name] = target; }

  // Of all names and texts.
  std::string Digest() const {
    std::string all;
    for (const auto* entries : {&files_, &links_}) {
      for (const auto& [name, text] : *entries) absl::StrAppend(&all, name, "\n", text, "\n");
    }
    return fabric::capture::DigestOf(std::as_bytes(std::span(all)));
  }

  // What is not below `root` yet. Several processes may do it at once.
  absl::Status Write(const fs::path& root) const {
    for (const auto& [name, text] : files_) {
      RETURN_IF_ERROR(Add(root / name, [&text = text](const fs::path& fresh) {
        std::ofstream stream(fresh);
        stream << text;
        stream.close();
        return stream ? std::error_code() : std::make_error_code(std::errc::io_error);
      }));
    }
    for (const auto& [name, target] : links_) {
      RETURN_IF_ERROR(Add(root / name, [&target = target](const fs::path& fresh) {
        std::error_code error;
        fs::create_symlink(target, fresh, error);
        return error;
      }));
    }
    return absl::OkStatus();
  }

 private:
  static bool IsThere(const fs::path& path) {
    std::error_code ignored;
    return fs::is_symlink(path, ignored) || fs::exists(path, ignored);
  }
  // Whoever sees the path sees all of it.
  template <typename Make>
  static absl::Status Add(const fs::path& path, Make make) {
    if (IsThere(path)) return absl::OkStatus();
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    const fs::path fresh = absl::StrCat(path.string(), ".", getpid());
    std::error_code ignored;
    fs::remove(fresh, ignored);  // of a process that died
    if (!error) error = make(fresh);
    if (!error) fs::rename(fresh, path, error);
    return !error || IsThere(path) ? absl::OkStatus() : Unavailable(path, error);
  }

  std::map<std::string, std::string> files_;
  std::map<std::string, std::string> links_;
};

// GT/s of each of a link's 16 lanes, for what it carries: 126 Gbit/s is the third generation of PCI
// Express (128 of 130 bits are data).
constexpr int kLanes = 16;
std::string LinkSpeed(double gbps) {
  double transfers = 8;
  while (transfers < 64 && transfers * kLanes * 128 / 130 < 0.95 * gbps) transfers *= 2;
  return absl::StrFormat("%.1f GT/s PCIe", transfers);
}

// As amzn-drivers' device shows it by the kernel: four groups. The number is ibv_get_device_guid's.
std::string GuidText(std::size_t index) {
  const auto guid = static_cast<std::uint64_t>(index) + 1;
  return absl::StrFormat("%04x:%04x:%04x:%04x", guid >> 48, guid >> 32 & 0xffff,
                         guid >> 16 & 0xffff, guid & 0xffff);
}

// The first 64 bytes of a function's configuration space, which are all that users may read.
std::string ConfigurationSpace(std::uint32_t vendor, std::uint32_t device) {
  std::string bytes(64, '\0');
  const auto put = [&bytes](std::size_t at, std::uint32_t word) {
    bytes[at] = static_cast<char>(word & 0xff);
    bytes[at + 1] = static_cast<char>(word >> 8);
  };
  put(0x00, vendor);
  put(0x02, device);
  put(0x04, 0x0006);  // it reaches memory, and may begin to
  put(0x0a, 0x0200);  // an Ethernet controller
  put(0x2c, vendor);
  put(0x2e, device);
  return bytes;
}

// What lists of PCI devices are made of. libpciaccess, and with it hwloc, finds no device at all
// where one lacks `config`; lspci ends where one lacks `irq` or `resource`. `id` is 1d0f:efa1.
void AddPciFunction(const std::string& id, const std::string& pci, Tree& tree) {
  const std::string vendor = id.substr(0, id.find(':'));
  const std::string device = id.substr(id.find(':') + 1);
  for (const char* of : {"", "subsystem_"}) {  // as AWS's Ethernet adapter has them: both the same
    tree.File(absl::StrCat(pci, of, "vendor"), "0x" + vendor);
    tree.File(absl::StrCat(pci, of, "device"), "0x" + device);
  }
  tree.File(pci + "class", "0x020000");
  tree.File(pci + "revision", "0x00");
  tree.File(pci + "irq", "0");
  constexpr char kNone[] = "0x0000000000000000 0x0000000000000000 0x0000000000000000";
  tree.File(pci + "resource", absl::StrJoin(std::vector<std::string>(7, kNone), "\n"));
  std::uint32_t numbers[2] = {};
  static_cast<void>(absl::SimpleHexAtoi(vendor, &numbers[0]));
  static_cast<void>(absl::SimpleHexAtoi(device, &numbers[1]));
  tree.Bytes(pci + "config", ConfigurationSpace(numbers[0], numbers[1]));
}

void AddNic(const Profile& profile, std::size_t index, Tree& tree) {
  const NicProfile& nic = profile.nics[index];
  // Below the bridge of its bus: hwloc knows a PCI device by a path with such a folder.
  const std::string bus = nic.pci_address.substr(0, nic.pci_address.rfind(':'));
  const std::string bridge = absl::StrCat("devices/pci", bus, "/");
  const std::string function = bridge + nic.pci_address;
  const std::string pci = function + "/";
  AddPciFunction(profile.vendor_device_id, pci, tree);
  tree.File(pci + "numa_node", absl::StrCat(nic.numa_node));
  tree.Link(pci + "driver", "../../../bus/pci/drivers/efa");
  for (const char* end : {"current", "max"}) {
    tree.File(absl::StrCat(pci, end, "_link_speed"), LinkSpeed(profile.dma_gbps));
    tree.File(absl::StrCat(pci, end, "_link_width"), absl::StrCat(kLanes));
  }
  tree.Link("bus/pci/devices/" + nic.pci_address, "../../../" + function);
  // Of a bus, two folders up are its devices.
  tree.File(absl::StrCat(bridge, "pci_bus/", bus, "/cpulistaffinity"),
            nic.numa_node < 0 ? "" : profile.numa_cpus[static_cast<std::size_t>(nic.numa_node)]);
  tree.Link("class/pci_bus/" + bus, absl::StrCat("../../", bridge, "pci_bus/", bus));
  const std::string device = absl::StrCat("class/infiniband/", nic.name, "/");
  tree.File(device + "node_guid", GuidText(index));
  tree.Link(device + "device", "../../../" + function);
  tree.File(device + "node_type", "0: unspecified");
  tree.File(device + "ports/1/state", "4: ACTIVE");
  tree.File(device + "ports/1/rate", absl::StrCat(profile.link_gbps, " Gb/sec"));
  const std::string verbs = absl::StrCat("class/infiniband_verbs/uverbs", index, "/");
  tree.File(verbs + "ibdev", nic.name);
  tree.File(verbs + "abi_version", "1");
  tree.Link(verbs + "device", "../../../" + function);
}

Tree TreeOf(const Profile& profile) {
  Tree tree;
  tree.File("class/infiniband_verbs/abi_version", "6");
  tree.File("bus/pci/drivers/efa/module", "efa");
  // How aws-ofi-nccl knows the instance type.
  const std::string& type = profile.aliases.empty() ? profile.name : profile.aliases.front();
  tree.File("devices/virtual/dmi/id/product_name", type);
  tree.File("devices/virtual/dmi/id/sys_vendor", "Amazon EC2");
  tree.File("devices/virtual/dmi/id/board_asset_tag", "i-00000000000000000");
  tree.Link("class/dmi/id", "../../devices/virtual/dmi/id");
  for (std::size_t i = 0; i < profile.nics.size(); ++i) AddNic(profile, i, tree);
  return tree;
}

}  // namespace

absl::Status WriteSysfsTree(const Profile& profile, const std::string& root) {
  return TreeOf(profile).Write(root);
}

absl::StatusOr<std::string> SysfsTreeFor(const Profile& profile, const std::string& parent,
                                         const std::string& topology) {
  const std::string folder = absl::StrCat(parent, "/drydock-efa-", geteuid());
  RETURN_IF_ERROR(MakePrivateFolder(folder));
  Tree tree = TreeOf(profile);
  tree.File("machine.xml", topology);
  // It stays: what another version of this program would write has another name.
  const std::string path =
      absl::StrCat(folder, "/", profile.name, "-", profile.nics.size(), "-", tree.Digest());
  if (fs::exists(path)) {  // whole, unless somebody clears up what nobody reads
    RETURN_IF_ERROR(tree.Write(path));
    return path;
  }
  std::string fresh = absl::StrCat(folder, "/new-XXXXXX");
  if (mkdtemp(fresh.data()) == nullptr) {
    return absl::UnavailableError(absl::StrCat(fresh, ": cannot be made"));
  }
  absl::Status written = tree.Write(fresh);
  std::error_code error;
  // The first process gives the tree its name: all of them write the same.
  if (written.ok()) fs::rename(fresh, path, error);
  if (!written.ok() || error) {
    std::error_code ignored;
    fs::remove_all(fresh, ignored);
  }
  RETURN_IF_ERROR(written);
  if (error && !fs::exists(path)) return Unavailable(path, error);
  return path;
}

}  // namespace drydock::sim::verbs
