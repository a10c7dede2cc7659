#include "drydock/sim/explore/replace_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "absl/strings/str_cat.h"

namespace drydock::sim::explore {
namespace {

// A new file for this process alone, whose name is then `draft`. -1, and errno.
int OpenDraft(const std::string& path, std::string& draft) {
  for (int i = 1;; ++i) {
    draft = absl::StrCat(path, ".", getpid(), i == 1 ? "" : absl::StrCat("-", i), ".part");
    const int file = open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0 || errno != EEXIST) return file;
  }
}

// 0, or the error.
int Write(int file, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : EIO;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

// The name is on the disk, too. Where a folder cannot be forced, its file system does it in time.
void ForceFolder(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const int file = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return;
  fsync(file);
  close(file);
}

}  // namespace

int ReplaceFile(const std::string& path, absl::string_view bytes, bool forced) {
  std::string draft;
  const int file = OpenDraft(path, draft);
  if (file < 0) return errno;
  int error = Write(file, bytes);
  if (error == 0 && forced && fsync(file) != 0) error = errno;
  if (close(file) != 0 && error == 0) error = errno;
  if (error == 0 && std::rename(draft.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) {
    unlink(draft.c_str());
    return error;
  }
  if (forced) ForceFolder(path);
  return 0;
}

}  // namespace drydock::sim::explore
