#include "drydock/apps/doctor/system_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "drydock/apps/doctor/finding.h"
#include "drydock/coro/status_macros.h"

namespace drydock::apps::doctor {
namespace {

constexpr int kMaxLinks = 40;  // as Linux has it
constexpr std::size_t kMaxParts = 1024;

absl::Status Failure(absl::string_view path, int error) {
  const std::string message = absl::StrCat(Printable(path), ": ", std::strerror(error));
  if (error == ENOENT || error == ENOTDIR) return absl::NotFoundError(message);
  if (error == EACCES || error == EPERM) return absl::PermissionDeniedError(message);
  return absl::FailedPreconditionError(message);
}

// Parts of a path that are still to be walked, the next one last.
void PushParts(absl::string_view path, std::vector<std::string>& parts) {
  std::vector<std::string> more = absl::StrSplit(path, '/', absl::SkipEmpty());
  parts.insert(parts.end(), more.rbegin(), more.rend());
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  int get() const { return number_; }

 private:
  const int number_;
};

}  // namespace

SystemFiles::SystemFiles(std::string root) : root_(std::move(root)) {
  while (!root_.empty() && root_.back() == '/') root_.pop_back();
}

std::string SystemFiles::OnHost(absl::string_view resolved) const {
  return absl::StrCat(root_, resolved);
}

absl::StatusOr<std::string> SystemFiles::Resolve(absl::string_view path) const {
  std::vector<std::string> todo;
  std::vector<std::string> done;
  PushParts(path, todo);
  for (int links = 0; !todo.empty();) {
    const std::string part = todo.back();
    todo.pop_back();
    if (part == ".") continue;
    if (part == "..") {
      if (!done.empty()) done.pop_back();
      continue;
    }
    done.push_back(part);
    const std::string host = OnHost(absl::StrCat("/", absl::StrJoin(done, "/")));
    struct stat found {};
    if (lstat(host.c_str(), &found) != 0) return Failure(path, errno);
    if (!S_ISLNK(found.st_mode)) continue;
    std::array<char, 4096> target{};
    const ssize_t length = readlink(host.c_str(), target.data(), target.size());
    if (length < 0) return Failure(path, errno);
    if (++links > kMaxLinks || todo.size() > kMaxParts) return Failure(path, ELOOP);
    const absl::string_view text(target.data(), static_cast<std::size_t>(length));
    if (!text.empty() && text[0] == '/') {
      done.clear();
    } else {
      done.pop_back();
    }
    PushParts(text, todo);
  }
  return absl::StrCat("/", absl::StrJoin(done, "/"));
}

absl::StatusOr<std::string> SystemFiles::Read(absl::string_view path, std::size_t max_bytes) const {
  ASSIGN_OR_RETURN(const std::string resolved, Resolve(path));
  // O_NONBLOCK: opening a pipe without a writer would block for ever.
  const Descriptor file(
      open(OnHost(resolved).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) return Failure(path, errno);
  struct stat found {};
  if (fstat(file.get(), &found) != 0) return Failure(path, errno);
  if (!S_ISREG(found.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(Printable(path), ": not a regular file"));
  }
  std::string text;
  std::array<char, 1 << 14> part;
  while (true) {
    const ssize_t length = read(file.get(), part.data(), part.size());
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) return Failure(path, errno);
    if (length == 0) return text;
    text.append(part.data(), static_cast<std::size_t>(length));
    if (text.size() > max_bytes) {
      return absl::OutOfRangeError(
          absl::StrCat(Printable(path), ": longer than ", max_bytes, " bytes"));
    }
  }
}

std::string SystemFiles::FirstLine(absl::string_view path) const {
  const absl::StatusOr<std::string> text = Read(path);
  if (!text.ok()) return "";
  const absl::string_view line = absl::string_view(*text).substr(0, text->find('\n'));
  return Printable(absl::StripAsciiWhitespace(line));
}

std::optional<std::int64_t> SystemFiles::Number(absl::string_view path) const {
  std::int64_t number = 0;
  if (!absl::SimpleAtoi(FirstLine(path), &number)) return std::nullopt;
  return number;
}

std::vector<std::string> SystemFiles::List(absl::string_view path) const {
  std::vector<std::string> names;
  const absl::StatusOr<std::string> resolved = Resolve(path);
  DIR* const folder = resolved.ok() ? opendir(OnHost(*resolved).c_str()) : nullptr;
  if (folder == nullptr) return names;
  while (names.size() < kMaxNames) {
    const dirent* const entry = readdir(folder);
    if (entry == nullptr) break;
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  closedir(folder);
  std::sort(names.begin(), names.end());
  return names;
}

absl::Status SystemFiles::TryToOpen(absl::string_view path) const {
  ASSIGN_OR_RETURN(const std::string resolved, Resolve(path));
  const Descriptor file(open(OnHost(resolved).c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  return file.get() < 0 ? Failure(path, errno) : absl::OkStatus();
}

std::string BaseName(absl::string_view path) {
  const std::size_t slash = path.rfind('/');
  return std::string(slash == absl::string_view::npos ? path : path.substr(slash + 1));
}

}  // namespace drydock::apps::doctor
