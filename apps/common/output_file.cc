#include "drydock/apps/common/output_file.h"

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

namespace drydock::apps {
namespace {

namespace fs = std::filesystem;

absl::Status Refuse(absl::string_view flag, const std::string& path, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("--", flag, "=", path, ": cannot be written: ", why));
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

bool IsReplaced(const fs::path& target) {
  std::error_code error;
  const fs::file_status there = fs::status(target, error);
  const bool may = access(FolderOf(target).c_str(), W_OK | X_OK) == 0;
  return may && (!fs::exists(there) || fs::is_regular_file(there));
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
  const fs::path target = Target(path);
  const bool is_replaced = IsReplaced(target);
  const std::string written =
      is_replaced ? absl::StrCat(target.string(), ".", getpid(), ".part") : target.string();
  errno = 0;
  std::ofstream file(written, std::ios::binary | std::ios::trunc);
  if (file) write(file);
  file.close();
  if (file && (!is_replaced || std::rename(written.c_str(), target.c_str()) == 0)) {
    return absl::OkStatus();
  }
  const int reason = errno == 0 ? EIO : errno;
  if (is_replaced) std::remove(written.c_str());
  return Refuse(flag, path, std::strerror(reason));
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
  std::map<std::string, absl::string_view> named;
  for (const absl::string_view flag : flags) {
    const absl::CommandLineFlag* const found = absl::FindCommandLineFlag(flag);
    const std::string path = found == nullptr ? "" : found->CurrentValue();
    if (path.empty()) continue;
    const auto [other, added] = named.try_emplace(path, flag);
    if (added) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--", other->second, " and --", flag, " are both to be in ", path));
  }
  return absl::OkStatus();
}

}  // namespace drydock::apps
