#include "drydock/sim/verbs/sysfs_tree.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "drydock/coro/status_macros.h"

namespace drydock::sim::verbs {
namespace {

namespace fs = std::filesystem;

absl::Status Unavailable(const fs::path& path, const std::error_code& error) {
  return absl::UnavailableError(absl::StrCat(path.string(), ": ", error.message()));
}

// Remembers the first failure, so that a tree reads as what it is.
class Writer {
 public:
  explicit Writer(fs::path root) : root_(std::move(root)) {}

  void File(const fs::path& name, const std::string& text) {
    if (!Folder(name)) return;
    std::ofstream stream(root_ / name);
    stream << text << "\n";
    stream.close();
    if (!stream) status_ = absl::UnavailableError(absl::StrCat((root_ / name).string(), ": write"));
  }
  void Link(const fs::path& name, const fs::path& target) {
    if (!Folder(name)) return;
    std::error_code error;
    if (fs::is_symlink(root_ / name)) return;  // several NICs can be on one bus
    fs::create_symlink(target, root_ / name, error);
    if (error) status_ = Unavailable(root_ / name, error);
  }
  const absl::Status& status() const { return status_; }

 private:
  bool Folder(const fs::path& name) {
    if (!status_.ok()) return false;
    std::error_code error;
    fs::create_directories((root_ / name).parent_path(), error);
    if (error) status_ = Unavailable(root_ / name, error);
    return status_.ok();
  }

  const fs::path root_;
  absl::Status status_;
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

void WriteNic(const Profile& profile, std::size_t index, Writer& writer) {
  const NicProfile& nic = profile.nics[index];
  const std::string pci = absl::StrCat("devices/", nic.pci_address, "/");
  const std::string& id = profile.vendor_device_id;  // 1d0f:efa1
  const std::size_t colon = id.find(':');
  writer.File(pci + "vendor", absl::StrCat("0x", id.substr(0, colon)));
  writer.File(pci + "device", absl::StrCat("0x", id.substr(colon + 1)));
  writer.File(pci + "numa_node", absl::StrCat(nic.numa_node));
  writer.Link(pci + "driver", "../../bus/pci/drivers/efa");
  for (const char* end : {"current", "max"}) {
    writer.File(absl::StrCat(pci, end, "_link_speed"), LinkSpeed(profile.dma_gbps));
    writer.File(absl::StrCat(pci, end, "_link_width"), absl::StrCat(kLanes));
  }
  writer.Link("bus/pci/devices/" + nic.pci_address, "../../../devices/" + nic.pci_address);
  // Of a bus, two folders up are its devices.
  const std::string bus = nic.pci_address.substr(0, nic.pci_address.rfind(':'));
  writer.File(absl::StrCat("devices/pci_bus/", bus, "/cpulistaffinity"),
              nic.numa_node < 0 ? "" : profile.numa_cpus[static_cast<std::size_t>(nic.numa_node)]);
  writer.Link("class/pci_bus/" + bus, "../../devices/pci_bus/" + bus);
  const std::string device = absl::StrCat("class/infiniband/", nic.name, "/");
  writer.File(device + "node_guid", GuidText(index));
  writer.Link(device + "device", absl::StrCat("../../../devices/", nic.pci_address));
  writer.File(device + "node_type", "0: unspecified");
  writer.File(device + "ports/1/state", "4: ACTIVE");
  writer.File(device + "ports/1/rate", absl::StrCat(profile.link_gbps, " Gb/sec"));
  const std::string verbs = absl::StrCat("class/infiniband_verbs/uverbs", index, "/");
  writer.File(verbs + "ibdev", nic.name);
  writer.File(verbs + "abi_version", "1");
  writer.Link(verbs + "device", absl::StrCat("../../../devices/", nic.pci_address));
}

// A folder of this user's that no other user can write to.
absl::Status MakePrivate(const std::string& folder) {
  if (mkdir(folder.c_str(), 0700) == 0) return absl::OkStatus();
  struct stat found {};
  if (lstat(folder.c_str(), &found) != 0 || !S_ISDIR(found.st_mode)) {
    return absl::UnavailableError(absl::StrCat(folder, ": cannot be made"));
  }
  if (found.st_uid != geteuid() || (found.st_mode & 022) != 0) {
    return absl::PermissionDeniedError(absl::StrCat(folder, ": others can write to it"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status WriteSysfsTree(const Profile& profile, const std::string& root) {
  Writer writer(root);
  writer.File("class/infiniband_verbs/abi_version", "6");
  writer.File("bus/pci/drivers/efa/module", "efa");
  // How aws-ofi-nccl knows the instance type.
  const std::string& type = profile.aliases.empty() ? profile.name : profile.aliases.front();
  writer.File("devices/virtual/dmi/id/product_name", type);
  writer.File("devices/virtual/dmi/id/sys_vendor", "Amazon EC2");
  writer.File("devices/virtual/dmi/id/board_asset_tag", "i-00000000000000000");
  for (std::size_t i = 0; i < profile.nics.size(); ++i) WriteNic(profile, i, writer);
  return writer.status();
}

absl::StatusOr<std::string> SysfsTreeFor(const Profile& profile, const std::string& parent,
                                         const std::string& topology) {
  const std::string folder = absl::StrCat(parent, "/drydock-efa-", geteuid());
  RETURN_IF_ERROR(MakePrivate(folder));
  // A tree stays: one of another version of this program has another name.
  constexpr int kVersion = 2;
  const std::string tree =
      absl::StrCat(folder, "/", profile.name, "-", profile.nics.size(), "-v", kVersion);
  if (fs::exists(tree)) return tree;
  std::string fresh = absl::StrCat(folder, "/new-XXXXXX");
  if (mkdtemp(fresh.data()) == nullptr) {
    return absl::UnavailableError(absl::StrCat(fresh, ": cannot be made"));
  }
  absl::Status written = WriteSysfsTree(profile, fresh);
  Writer writer(fresh);
  writer.File("machine.xml", topology);
  written.Update(writer.status());
  std::error_code error;
  // The first process gives the tree its name: all of them write the same.
  if (written.ok()) fs::rename(fresh, tree, error);
  if (!written.ok() || error) {
    std::error_code ignored;
    fs::remove_all(fresh, ignored);
  }
  RETURN_IF_ERROR(written);
  if (error && !fs::exists(tree)) return Unavailable(tree, error);
  return tree;
}

}  // namespace drydock::sim::verbs
