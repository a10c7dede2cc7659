#include "drydock/sim/verbs/sysfs_tree.h"

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
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

void AddNic(const Profile& profile, std::size_t index, Tree& tree) {
  const NicProfile& nic = profile.nics[index];
  const std::string pci = absl::StrCat("devices/", nic.pci_address, "/");
  const std::string& id = profile.vendor_device_id;  // 1d0f:efa1
  const std::size_t colon = id.find(':');
  tree.File(pci + "vendor", absl::StrCat("0x", id.substr(0, colon)));
  tree.File(pci + "device", absl::StrCat("0x", id.substr(colon + 1)));
  tree.File(pci + "numa_node", absl::StrCat(nic.numa_node));
  tree.Link(pci + "driver", "../../bus/pci/drivers/efa");
  for (const char* end : {"current", "max"}) {
    tree.File(absl::StrCat(pci, end, "_link_speed"), LinkSpeed(profile.dma_gbps));
    tree.File(absl::StrCat(pci, end, "_link_width"), absl::StrCat(kLanes));
  }
  tree.Link("bus/pci/devices/" + nic.pci_address, "../../../devices/" + nic.pci_address);
  // Of a bus, two folders up are its devices.
  const std::string bus = nic.pci_address.substr(0, nic.pci_address.rfind(':'));
  tree.File(absl::StrCat("devices/pci_bus/", bus, "/cpulistaffinity"),
            nic.numa_node < 0 ? "" : profile.numa_cpus[static_cast<std::size_t>(nic.numa_node)]);
  tree.Link("class/pci_bus/" + bus, "../../devices/pci_bus/" + bus);
  const std::string device = absl::StrCat("class/infiniband/", nic.name, "/");
  tree.File(device + "node_guid", GuidText(index));
  tree.Link(device + "device", absl::StrCat("../../../devices/", nic.pci_address));
  tree.File(device + "node_type", "0: unspecified");
  tree.File(device + "ports/1/state", "4: ACTIVE");
  tree.File(device + "ports/1/rate", absl::StrCat(profile.link_gbps, " Gb/sec"));
  const std::string verbs = absl::StrCat("class/infiniband_verbs/uverbs", index, "/");
  tree.File(verbs + "ibdev", nic.name);
  tree.File(verbs + "abi_version", "1");
  tree.Link(verbs + "device", absl::StrCat("../../../devices/", nic.pci_address));
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
