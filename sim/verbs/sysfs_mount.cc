#include "drydock/sim/verbs/sysfs_mount.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "drydock/coro/status_macros.h"

namespace drydock::sim::verbs {
namespace {

namespace fs = std::filesystem;

absl::Status Unavailable(absl::string_view what, int error) {
  return absl::UnavailableError(absl::StrCat(what, ": ", std::strerror(error)));
}

// ---- The namespace ----

// What the kernel's administrator has set against it; empty: nothing that is known here.
std::string Forbidding() {
  constexpr struct {
    const char* name;
    const char* file;
    const char* forbids;
  } kSettings[] = {
      {"kernel.unprivileged_userns_clone", "/proc/sys/kernel/unprivileged_userns_clone", "0"},
      {"user.max_user_namespaces", "/proc/sys/user/max_user_namespaces", "0"},
      {"kernel.apparmor_restrict_unprivileged_userns",
       "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"},
  };
  for (const auto& setting : kSettings) {
    std::string value;
    if (std::getline(std::ifstream(setting.file), value) && value == setting.forbids) {
      return absl::StrCat("; ", setting.name, " is ", value);
    }
  }
  return "";
}

absl::Status NoNamespace(absl::string_view step) {
  const int error = errno;
  return absl::UnavailableError(
      absl::StrCat("mounts of its own take CAP_SYS_ADMIN, or user namespaces for everybody, and "
                   "here is neither (",
                   step, ": ", std::strerror(error), Forbidding(), ")"));
}

absl::Status Tell(const char* file, const std::string& text) {
  const int opened = open(file, O_WRONLY | O_CLOEXEC);
  const bool is_told =
      opened >= 0 && write(opened, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const absl::Status status = is_told ? absl::OkStatus() : NoNamespace(file);
  if (opened >= 0) close(opened);
  return status;
}

// ---- What is laid over what ----

enum class Kind { kFile, kFolder, kLink };
using Entries = std::map<std::string, Kind>;

absl::StatusOr<Entries> EntriesOf(const std::string& folder) {
  Entries entries;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  while (!error && entry != fs::directory_iterator()) {
    std::error_code ignored;  // the folder tells the kind: no file is asked
    Kind kind = Kind::kLink;
    if (!entry->is_symlink(ignored)) {
      kind = entry->is_directory(ignored) ? Kind::kFolder : Kind::kFile;
    }
    entries[entry->path().filename()] = kind;
    entry.increment(error);
  }
  if (error) return Unavailable(folder, error.value());
  return entries;
}

bool AreFolders(const std::string& name, const Entries& ours, const Entries& real) {
  const auto here = ours.find(name);
  const auto there = real.find(name);
  return here != ours.end() && there != real.end() && here->second == Kind::kFolder &&
         there->second == Kind::kFolder;
}

std::string Join(const std::string& folder, const std::string& name) {
  return folder.empty() ? name : absl::StrCat(folder, "/", name);
}

// A folder as it is when it is opened, whatever is mounted over it later.
class OpenFolder {
 public:
  static absl::StatusOr<OpenFolder> Open(const std::string& path) {
    const int opened = open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (opened < 0) return Unavailable(path, errno);
    return OpenFolder(opened);
  }
  OpenFolder(OpenFolder&& other) noexcept : opened_(std::exchange(other.opened_, -1)) {}
  ~OpenFolder() {
    if (opened_ >= 0) close(opened_);
  }

  std::string At(const std::string& name) const {
    return absl::StrCat("/proc/self/fd/", opened_, "/", name);
  }

 private:
  explicit OpenFolder(int opened) : opened_(opened) {}

  int opened_;
};

// As sysfs has its files: all may read them, whatever the user's mask.
class NoMask {
 public:
  NoMask() : before_(umask(0)) {}
  ~NoMask() { umask(before_); }
  NoMask(const NoMask&) = delete;
  NoMask& operator=(const NoMask&) = delete;

 private:
  const mode_t before_;
};

absl::Status MakeFolder(const std::string& path) {
  if (mkdir(path.c_str(), 0755) == 0 || errno == EEXIST) return absl::OkStatus();
  return Unavailable(path, errno);
}

absl::Status MakeFile(const std::string& path, const std::string& text) {
  const int opened = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
  if (opened < 0) return Unavailable(path, errno);
  const bool is_written =
      write(opened, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int error = errno;
  close(opened);
  return is_written ? absl::OkStatus() : Unavailable(path, error);
}

// A file of sysfs is a page at most.
constexpr std::size_t kMostOfFile = 4096;

absl::Status CopyFile(const std::string& from, const std::string& to) {
  std::string text(kMostOfFile, '\0');
  const int opened = open(from.c_str(), O_RDONLY | O_CLOEXEC);
  const ssize_t count = opened < 0 ? -1 : read(opened, text.data(), text.size());
  const int error = errno;
  if (opened >= 0) close(opened);
  if (count < 0) return Unavailable(from, error);
  text.resize(static_cast<std::size_t>(count));
  return MakeFile(to, text);
}

absl::StatusOr<std::string> TargetOf(const std::string& link) {
  std::error_code error;
  const fs::path target = fs::read_symlink(link, error);
  if (error) return Unavailable(link, error.value());
  return target.string();
}

absl::Status CopyLink(const std::string& from, const std::string& to) {
  ASSIGN_OR_RETURN(const std::string target, TargetOf(from));
  if (symlink(target.c_str(), to.c_str()) == 0) return absl::OkStatus();
  return Unavailable(to, errno);
}

// With what is mounted below it: a mount that this user has not made cannot be shown without.
absl::Status Bind(const std::string& from, const std::string& to) {
  if (mount(from.c_str(), to.c_str(), nullptr, MS_BIND | MS_REC, nullptr) == 0) {
    return absl::OkStatus();
  }
  return Unavailable(absl::StrCat("mount of ", to), errno);
}

// A folder that can be mounted on stays, and what the tree has for it is mounted there. One that
// lacks a name of the tree is remade: sysfs lets nobody add one.
class Layers {
 public:
  // `tree` is the folder where `store` is mounted now, as it was before. The store is a file system
  // of ours: what is shown is put together there.
  Layers(OpenFolder tree, std::string store, std::string sysfs)
      : tree_(std::move(tree)), store_(std::move(store)), sysfs_(std::move(sysfs)) {}

  absl::Status Lay() { return Lay(""); }

 private:
  // Whether nothing real stays in it: in a class of RDMA devices, or in a PCI function, which has a
  // vendor.
  static bool IsReplaced(const std::string& folder, const Entries& ours) {
    return folder == "class/infiniband" || folder == "class/infiniband_verbs" ||
           ours.contains("vendor");
  }
  // A device may leave between two looks at it.
  static bool IsThere(const std::string& path) {
    std::error_code ignored;
    return fs::exists(fs::symlink_status(path, ignored));
  }
  std::string Stored(const std::string& name) const { return absl::StrCat(store_, "/", name); }
  std::string Real(const std::string& name) const { return absl::StrCat(sysfs_, "/", name); }

  // `folder` is in the tree and in sysfs.
  absl::Status Lay(const std::string& folder) {
    ASSIGN_OR_RETURN(Entries ours, EntriesOf(tree_.At(folder)));
    if (folder.empty()) {
      std::erase_if(ours, [](const auto& entry) { return entry.second == Kind::kFile; });
    }
    Entries real;
    bool takes_all = false;
    if (!IsReplaced(folder, ours)) {
      ASSIGN_OR_RETURN(real, EntriesOf(Real(folder)));
      ASSIGN_OR_RETURN(takes_all, TakesAll(folder, ours, real));
    }
    RETURN_IF_ERROR(MakeStored(folder));
    if (!takes_all) RETURN_IF_ERROR(Remake(folder, ours, real));
    for (const auto& [name, kind] : ours) {
      const std::string both = Join(folder, name);
      if (AreFolders(name, ours, real)) RETURN_IF_ERROR(Lay(both));
      if (!takes_all || kind != Kind::kFile) continue;
      RETURN_IF_ERROR(CopyFile(tree_.At(both), Stored(both)));
      RETURN_IF_ERROR(Bind(Stored(both), Real(both)));
    }
    return absl::OkStatus();
  }

  // Whether all that the tree has can be mounted on what is there.
  absl::StatusOr<bool> TakesAll(const std::string& folder, const Entries& ours,
                                const Entries& real) const {
    for (const auto& [name, kind] : ours) {
      const auto found = real.find(name);
      if (found == real.end() || found->second != kind) return false;
      if (kind != Kind::kLink) continue;
      ASSIGN_OR_RETURN(const std::string here, TargetOf(tree_.At(Join(folder, name))));
      ASSIGN_OR_RETURN(const std::string there, TargetOf(Real(Join(folder, name))));
      if (here != there) return false;
    }
    return true;
  }

  // Where no folder above is remade, its path is not there yet.
  absl::Status MakeStored(const std::string& folder) const {
    for (std::size_t end = folder.find('/'); end != std::string::npos;
         end = folder.find('/', end + 1)) {
      RETURN_IF_ERROR(MakeFolder(Stored(folder.substr(0, end))));
    }
    return MakeFolder(Stored(folder));
  }

  // Mounts over the folder one that has the names of both. What is real is mounted in it again.
  absl::Status Remake(const std::string& folder, const Entries& ours, const Entries& real) const {
    ASSIGN_OR_RETURN(const OpenFolder before, OpenFolder::Open(Real(folder)));
    std::vector<std::string> kept;
    for (const auto& [name, kind] : real) {
      if (ours.contains(name) && !AreFolders(name, ours, real)) continue;
      const std::string stored = Stored(Join(folder, name));
      if (kind == Kind::kLink) {
        const absl::Status copied = CopyLink(before.At(name), stored);
        if (!copied.ok() && IsThere(before.At(name))) return copied;
        continue;
      }
      RETURN_IF_ERROR(kind == Kind::kFolder ? MakeFolder(stored) : MakeFile(stored, ""));
      kept.push_back(name);
    }
    for (const auto& [name, kind] : ours) {
      if (!AreFolders(name, ours, real)) RETURN_IF_ERROR(Copy(Join(folder, name), kind));
    }
    RETURN_IF_ERROR(Bind(Stored(folder), Real(folder)));
    for (const std::string& name : kept) {
      const absl::Status bound = Bind(before.At(name), Real(Join(folder, name)));
      if (!bound.ok() && IsThere(before.At(name))) return bound;
    }
    return absl::OkStatus();
  }

  // From the tree into the store.
  absl::Status Copy(const std::string& name, Kind kind) const {
    const std::string from = tree_.At(name);
    const std::string to = Stored(name);
    if (kind == Kind::kLink) return CopyLink(from, to);
    if (kind != Kind::kFolder) return CopyFile(from, to);
    RETURN_IF_ERROR(MakeFolder(to));
    ASSIGN_OR_RETURN(const Entries entries, EntriesOf(from));
    for (const auto& [child, of] : entries) RETURN_IF_ERROR(Copy(Join(name, child), of));
    return absl::OkStatus();
  }

  const OpenFolder tree_;
  const std::string store_;
  const std::string sysfs_;
};

}  // namespace

absl::Status TakeMountNamespace() {
  const std::string user = absl::StrCat(geteuid(), " ", geteuid(), " 1");
  const std::string group = absl::StrCat(getegid(), " ", getegid(), " 1");
  if (unshare(CLONE_NEWNS) != 0) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return NoNamespace("unshare");
    RETURN_IF_ERROR(Tell("/proc/self/setgroups", "deny"));  // or nobody may say who the group is
    RETURN_IF_ERROR(Tell("/proc/self/uid_map", user));
    RETURN_IF_ERROR(Tell("/proc/self/gid_map", group));
  }
  // Not private: a home that autofs mounts on demand is mounted outside.
  if (mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) {
    const int error = errno;
    return Unavailable(error == EINVAL ? "mount of / as a slave (in a chroot / is no mount point)"
                                       : "mount of / as a slave",
                       error);
  }
  return absl::OkStatus();
}

absl::Status LayOverSysfs(const std::string& tree, const std::string& sysfs) {
  const NoMask no_mask;
  ASSIGN_OR_RETURN(OpenFolder opened, OpenFolder::Open(tree));
  constexpr unsigned long kFlags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
  if (mount("drydock", tree.c_str(), "tmpfs", kFlags, "mode=755") != 0) {
    return Unavailable(absl::StrCat("mount of ", tree), errno);
  }
  RETURN_IF_ERROR(Layers(std::move(opened), tree, sysfs).Lay());
  if (mount(nullptr, tree.c_str(), nullptr, MS_REMOUNT | MS_RDONLY | kFlags, nullptr) != 0 ||
      umount2(tree.c_str(), MNT_DETACH) != 0) {
    return Unavailable(tree, errno);
  }
  return absl::OkStatus();
}

}  // namespace drydock::sim::verbs
