#include "sim/verbs/sysfs_tree.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "coro/status_macros.h"

namespace sim::verbs {
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

void WriteNic(const Profile& profile, std::size_t index, Writer& writer) {
  const NicProfile& nic = profile.nics[index];
  const std::string pci = absl::StrCat("devices/", nic.pci_address, "/");
  const std::string& id = profile.vendor_device_id;  // 1d0f:efa1
  const std::size_t colon = id.find(':');
  writer.File(pci + "vendor", absl::StrCat("0x", id.substr(0, colon)));
  writer.File(pci + "device", absl::StrCat("0x", id.substr(colon + 1)));
  writer.File(pci + "numa_node", absl::StrCat(nic.numa_node));
  writer.Link(pci + "driver", "../../bus/pci/drivers/efa");
  const std::string device = absl::StrCat("class/infiniband/", nic.name, "/");
  writer.Link(device + "device", absl::StrCat("../../../devices/", nic.pci_address));
  writer.File(device + "node_type", "0: unspecified");
  writer.File(device + "ports/1/state", "4: ACTIVE");
  writer.File(device + "ports/1/rate", absl::StrCat(profile.link_gbps, " Gb/sec"));
  const std::string verbs = absl::StrCat("class/infiniband_verbs/uverbs", index, "/");
  writer.File(verbs + "ibdev", nic.name);
  writer.File(verbs + "abi_version", "1");
  writer.Link(verbs + "device", absl::StrCat("../../../devices/", nic.pci_address));
}

// A folder of this user's that nobody else can write to.
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
  for (std::size_t i = 0; i < profile.nics.size(); ++i) WriteNic(profile, i, writer);
  return writer.status();
}

absl::StatusOr<std::string> SysfsTreeFor(const Profile& profile, const std::string& parent) {
  const std::string folder = absl::StrCat(parent, "/drydock-efa-", geteuid());
  RETURN_IF_ERROR(MakePrivate(folder));
  const std::string tree = absl::StrCat(folder, "/", profile.name, "-", profile.nics.size());
  if (fs::exists(tree)) return tree;
  std::string fresh = absl::StrCat(folder, "/new-XXXXXX");
  if (mkdtemp(fresh.data()) == nullptr) {
    return absl::UnavailableError(absl::StrCat(fresh, ": cannot be made"));
  }
  absl::Status written = WriteSysfsTree(profile, fresh);
  std::error_code error;
  // Whoever comes first gives the tree its name: all of them write the same.
  if (written.ok()) fs::rename(fresh, tree, error);
  if (!written.ok() || error) {
    std::error_code ignored;
    fs::remove_all(fresh, ignored);
  }
  RETURN_IF_ERROR(written);
  if (error && !fs::exists(tree)) return Unavailable(tree, error);
  return tree;
}

}  // namespace sim::verbs
