#include "drydock/sim/hosts/shared_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace drydock::sim {
namespace {

absl::Status FailureOf(const char* what, const std::string& name, int error) {
  const std::string text =
      absl::StrCat("shared memory: ", what, " ", name, ": ", std::strerror(error));
  if (error == EEXIST) return absl::AlreadyExistsError(text);
  if (error == ENOENT) return absl::NotFoundError(text);
  if (error == ENOSPC || error == EMFILE || error == ENFILE || error == ENOMEM) {
    return absl::ResourceExhaustedError(text);
  }
  return absl::UnavailableError(text);
}

}  // namespace

const char* const kSharedFolder = "/dev/shm/";

bool IsOurs(int fd) {
  struct stat status;
  return fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
         (status.st_mode & 077) == 0;
}

absl::StatusOr<SharedFile> SharedFile::Map(int fd, std::size_t bytes) {
  // Without room behind it, a write to the mapping would be a signal.
  int error = 0;
  do {
    error = posix_fallocate(fd, 0, static_cast<off_t>(bytes));
  } while (error == EINTR);  // on older kernels any signal of the program ends it
  if (error != 0) return FailureOf("make room in", kSharedFolder, error);
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (data == MAP_FAILED) return FailureOf("map a file in", kSharedFolder, errno);
  return SharedFile(static_cast<std::byte*>(data), bytes);
}

absl::StatusOr<SharedFile> SharedFile::Make(const std::string& name, std::size_t bytes) {
  const std::string path = absl::StrCat(kSharedFolder, name);
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return FailureOf("make", path, errno);
  absl::StatusOr<SharedFile> file = Map(fd, bytes);
  if (!file.ok()) unlink(path.c_str());
  close(fd);
  return file;
}

absl::StatusOr<SharedFile> SharedFile::Open(const std::string& name, std::size_t most) {
  const std::string path = absl::StrCat(kSharedFolder, name);
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return FailureOf("open", path, errno);
  struct stat status;
  absl::StatusOr<SharedFile> file = FailureOf("use", path, EACCES);
  if (IsOurs(fd) && fstat(fd, &status) == 0 && status.st_size > 0) {
    const auto bytes = static_cast<std::size_t>(status.st_size);
    if (bytes <= most) file = Map(fd, bytes);
  }
  close(fd);
  return file;
}

void SharedFile::Unlink(const std::string& name) {
  unlink(absl::StrCat(kSharedFolder, name).c_str());
}

SharedFile::SharedFile(SharedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

SharedFile& SharedFile::operator=(SharedFile&& other) noexcept {
  if (this != &other) {
    if (data_ != nullptr) munmap(data_, size_);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
  }
  return *this;
}

SharedFile::~SharedFile() {
  if (data_ != nullptr) munmap(data_, size_);
}

}  // namespace drydock::sim
