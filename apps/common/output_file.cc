#include "drydock/apps/common/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <system_error>

#include "absl/flags/commandlineflag.h"
#include "absl/flags/reflection.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "drydock/apps/common/ranks/launch.h"
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

// Where the bytes of `path` are, or will be: at the end of its links, also where nothing is yet.
fs::path Target(const std::string& path) {
  constexpr int kMostLinks = 40;  // as the kernel follows
  std::error_code error;
  fs::path target = fs::absolute(path, error);
  // A link of /proc names no file, and leads to one nevertheless.
  const bool is_there = fs::exists(target, error);
  for (int i = 0; !is_there && i < kMostLinks && fs::is_symlink(target, error); ++i) {
    target = FolderOf(target) / fs::read_symlink(target, error);
  }
  const fs::path plain = fs::weakly_canonical(target, error);
  return error ? target : plain;
}

// Standard output or error where it is this file, and what else is printed goes there, too; or -1.
int PrintedTo(const std::string& path) {
  struct stat file {};
  if (stat(path.c_str(), &file) != 0) return -1;
  for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat printed {};
    if (fstat(descriptor, &printed) == 0 && printed.st_dev == file.st_dev &&
        printed.st_ino == file.st_ino) {
      return descriptor;
    }
  }
  return -1;
}

// Whoever names it means what is open there, whatever that is.
bool IsOpen(const std::string& path) {
  std::error_code error;
  const fs::path folder = fs::weakly_canonical(FolderOf(path), error);
  return PrintedTo(path) >= 0 || absl::StartsWith(folder.string(), "/proc/");
}

bool IsFileOrNothing(const std::string& path) {
  std::error_code error;
  return !fs::exists(path, error) || fs::is_regular_file(path, error);
}

// Another file can come in its place: it is a file, or nothing yet, in a folder that takes one.
bool IsReplaced(const fs::path& target) {
  std::error_code error;
  if (access(FolderOf(target).c_str(), W_OK | X_OK) != 0) return false;
  const fs::file_status there = fs::symlink_status(target, error);
  return !fs::exists(there) || fs::is_regular_file(there);
}

// The functions below return 0, or the number of an error.

int Number(bool good) { return good ? 0 : errno == 0 ? EIO : errno; }

// Whatever was printed before comes before it.
int Print(int descriptor, const std::function<void(std::ostream&)>& write) {
  std::ostringstream text;
  write(text);
  if (!text) return EIO;
  const std::string bytes = text.str();
  std::cout.flush();
  std::fflush(stdout);
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t count = ::write(descriptor, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno != EINTR) return errno;
    if (count > 0) done += static_cast<std::size_t>(count);
  }
  return 0;
}

int Fill(const fs::path& path, const std::function<void(std::ostream&)>& write) {
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  if (file) write(file);
  file.close();
  return Number(file.good());
}

// A new, empty file with the permissions of `like`, where that is there. Another one of its name
// may be anybody's, and goes.
int Create(const fs::path& path, const fs::path& like) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  struct stat there {};
  const bool is_new = stat(like.c_str(), &there) != 0;
  const mode_t mode = is_new ? 0666 : S_IRUSR | S_IWUSR;
  int file = open(path.c_str(), kFlags, mode);
  if (file < 0 && errno == EEXIST && unlink(path.c_str()) == 0) {
    file = open(path.c_str(), kFlags, mode);
  }
  if (file < 0) return errno;
  const bool permitted = is_new || fchmod(file, there.st_mode & 07777) == 0;
  const int error = Number(permitted);
  close(file);
  return error;
}

int Replace(const fs::path& target, const std::function<void(std::ostream&)>& write) {
  const fs::path draft = absl::StrCat(target.string(), ".", getpid(), ".part");
  int error = Create(draft, target);
  if (error == 0) error = Fill(draft, write);
  if (error == 0) error = Number(std::rename(draft.c_str(), target.c_str()) == 0);
  if (error != 0) std::remove(draft.c_str());
  return error;
}

// Empty where the program has no such flag.
std::string ValueOf(absl::string_view flag) {
  const absl::CommandLineFlag* const found = absl::FindCommandLineFlag(flag);
  return found == nullptr ? "" : found->CurrentValue();
}

absl::Status AreDistinct(const std::vector<OutputFile>& files) {
  std::map<fs::path, absl::string_view> named;
  for (const auto& [flag, path] : files) {
    if (path.empty() || !IsFileOrNothing(path)) continue;
    const auto [other, added] = named.try_emplace(Target(path), flag);
    if (added) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--", other->second, " and --", flag, " are both to be in ", path));
  }
  return absl::OkStatus();
}

}  // namespace

std::string PathOfThisRank(const std::string& path) {
  const std::optional<Launch> launch = FindLaunch();
  if (!launch.has_value() || path.empty() || !IsFileOrNothing(path) || IsOpen(path)) return path;
  const fs::path named = path;
  const std::string name =
      absl::StrCat(named.stem().string(), ".rank", launch->rank, named.extension().string());
  return fs::path(named).replace_filename(name).string();
}

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
  const int printed = PrintedTo(path);
  const fs::path target = Target(path);
  const int error = printed >= 0         ? Print(printed, write)
                    : IsReplaced(target) ? Replace(target, write)
                                         : Fill(target, write);
  if (error == 0) return absl::OkStatus();
  return absl::UnavailableError(Complaint(flag, path, std::strerror(error)));
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

absl::Status CheckOutputs(const std::vector<OutputFile>& files) {
  for (const auto& [flag, path] : files) {
    if (!path.empty()) RETURN_IF_ERROR(CheckOutput(flag, path));
  }
  return AreDistinct(files);
}

absl::Status CheckOutputFlag(absl::string_view flag, const std::string& path) {
  RETURN_IF_ERROR(CheckOutput(flag, path));
  RETURN_IF_ERROR(CheckSpares(flag, path, {ValueOf("faults"), ValueOf("topology")}));
  std::vector<OutputFile> files;
  for (const absl::string_view each : {"metrics", "trace", "svg"}) {
    files.push_back({each, ValueOf(each)});
  }
  return AreDistinct(files);
}

}  // namespace drydock::apps
