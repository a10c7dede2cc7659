#include "drydock/apps/common/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <system_error>

#include "absl/flags/commandlineflag.h"
#include "absl/flags/reflection.h"
#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"

namespace drydock::apps {
namespace {

namespace fs = std::filesystem;

std::string Complaint(absl::string_view flag, const std::string& path, absl::string_view why) {
  return absl::StrCat("--", flag, "=", path, ": cannot be written: ", why);
}

absl::Status Refuse(absl::string_view flag, const std::string& path, absl::string_view why) {
  return absl::InvalidArgumentError(Complaint(flag, path, why));
}

fs::path FolderOf(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

// Where the bytes of `path` are: at the end of its links.
fs::path Target(const std::string& path) {
  std::error_code error;
  const fs::path target = fs::canonical(path, error);
  return error ? fs::path(path) : target;
}

// Standard output or error is this file: what else is printed goes there, too.
bool IsPrintedTo(const fs::path& target) {
  struct stat file {};
  if (stat(target.c_str(), &file) != 0) return false;
  for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat printed {};
    if (fstat(descriptor, &printed) == 0 && printed.st_dev == file.st_dev &&
        printed.st_ino == file.st_ino) {
      return true;
    }
  }
  return false;
}

// Another file can come in its place: it is a file, or nothing yet, in a folder that takes one.
bool IsReplaced(const fs::path& target) {
  std::error_code error;
  if (access(FolderOf(target).c_str(), W_OK | X_OK) != 0) return false;
  const fs::file_status there = fs::symlink_status(target, error);
  return !fs::exists(there) || (fs::is_regular_file(there) && !IsPrintedTo(target));
}

// A new, empty file; one of this name that is there may be anybody's.
bool Create(const std::string& path) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  int file = open(path.c_str(), kFlags, 0666);
  if (file < 0 && errno == EEXIST && unlink(path.c_str()) == 0) {
    file = open(path.c_str(), kFlags, 0666);
  }
  return file >= 0 && close(file) == 0;
}

// Those of a file that was there; without one, none.
void CopyPermissions(const fs::path& from, const fs::path& to) {
  std::error_code error;
  const fs::file_status there = fs::status(from, error);
  if (fs::exists(there)) fs::permissions(to, there.permissions(), error);
}

}  // namespace

absl::Status CheckOutput(absl::string_view flag, const std::string& path) {
  std::error_code error;
  if (path.empty()) return Refuse(flag, path, "it has no name");
  if (fs::is_directory(path, error)) return Refuse(flag, path, std::strerror(EISDIR));
  if (access(path.c_str(), W_OK) == 0) return absl::OkStatus();
  if (errno != ENOENT) return Refuse(flag, path, std::strerror(errno));
  const fs::path folder = FolderOf(path);
  if (access(folder.c_str(), W_OK | X_OK) == 0 && fs::is_directory(folder, error)) {
    return absl::OkStatus();
  }
  return Refuse(flag, path, std::strerror(errno == 0 ? ENOTDIR : errno));
}

absl::Status WriteOutput(absl::string_view flag, const std::string& path,
                         const std::function<void(std::ostream&)>& write) {
  RETURN_IF_ERROR(CheckOutput(flag, path));
  const fs::path target = Target(path);
  const bool is_replaced = IsReplaced(target);
  const std::string written =
      is_replaced ? absl::StrCat(target.string(), ".", getpid(), ".part") : target.string();
  errno = 0;
  std::ofstream file;
  if (!is_replaced || Create(written)) {
    file.open(written, std::ios::binary | (IsPrintedTo(target) ? std::ios::app : std::ios::trunc));
    if (file) write(file);
    file.close();
  } else {
    file.setstate(std::ios::failbit);
  }
  int failed = file ? 0 : errno == 0 ? EIO : errno;
  if (is_replaced && failed == 0) {
    CopyPermissions(target, written);
    if (std::rename(written.c_str(), target.c_str()) != 0) failed = errno;
  }
  if (failed == 0) return absl::OkStatus();
  if (is_replaced) std::remove(written.c_str());
  return absl::UnavailableError(Complaint(flag, path, std::strerror(failed)));
}

absl::Status CheckSpares(absl::string_view flag, const std::string& path,
                         const std::vector<std::string>& read) {
  for (const std::string& one : read) {
    std::error_code absent;
    if (!fs::equivalent(one, path, absent)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--", flag, "=", path, " is a file that this run reads"));
  }
  return absl::OkStatus();
}

absl::Status CheckDistinct(std::initializer_list<absl::string_view> flags) {
  std::map<fs::path, absl::string_view> named;
  for (const absl::string_view flag : flags) {
    const absl::CommandLineFlag* const found = absl::FindCommandLineFlag(flag);
    const std::string path = found == nullptr ? "" : found->CurrentValue();
    std::error_code error;
    const bool is_file = !fs::exists(path, error) || fs::is_regular_file(path, error);
    if (path.empty() || !is_file) continue;
    const auto [other, added] =
        named.try_emplace(fs::weakly_canonical(fs::absolute(path, error), error), flag);
    if (added) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--", other->second, " and --", flag, " are both to be in ", path));
  }
  return absl::OkStatus();
}

}  // namespace drydock::apps
