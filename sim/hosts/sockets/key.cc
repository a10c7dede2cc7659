#include "drydock/sim/hosts/sockets/key.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace drydock::sim {
namespace {

constexpr std::size_t kDigits = 32;

absl::Status FileFailed(const std::string& file, const std::string& what) {
  return absl::UnavailableError(absl::StrCat("key file ", file, ": ", what));
}

int DigitOf(char letter) {
  if (letter >= '0' && letter <= '9') return letter - '0';
  if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
  return -1;
}

absl::StatusOr<Key> ReadFrom(int fd, const std::string& file) {
  struct stat status;
  if (fstat(fd, &status) != 0) return FileFailed(file, std::strerror(errno));
  if (!S_ISREG(status.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat("key file ", file, ": is no file"));
  }
  if (status.st_uid != geteuid() || (status.st_mode & 077) != 0) {
    return absl::PermissionDeniedError(absl::StrCat(
        "key file ", file, ": has to be this user's, and nobody else's to read (chmod 600)"));
  }
  char digits[kDigits];
  Key key;
  bool sound = read(fd, digits, kDigits) == static_cast<ssize_t>(kDigits);
  for (std::size_t i = 0; sound && i < key.size(); ++i) {
    const int high = DigitOf(digits[2 * i]);
    const int low = DigitOf(digits[2 * i + 1]);
    sound = high >= 0 && low >= 0;
    key[i] = static_cast<std::byte>(16 * high + low);
  }
  if (sound) return key;
  return absl::InvalidArgumentError(
      absl::StrCat("key file ", file, ": holds no key of ", kDigits, " hexadecimal digits"));
}

// `path`: a draft of `file`, which errors name.
absl::Status WriteNew(const std::string& path, const std::string& file) {
  Key key;
  FillRandomly(key);
  std::string text;
  for (const std::byte byte : key) absl::StrAppend(&text, absl::Hex(byte, absl::kZeroPad2));
  text += '\n';
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return FileFailed(file, std::strerror(errno));
  const bool written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int error = errno;
  close(fd);
  if (written) return absl::OkStatus();
  unlink(path.c_str());
  return FileFailed(file, std::strerror(error));
}

}  // namespace

void FillRandomly(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t filled = getrandom(bytes.data(), bytes.size(), 0);
    if (filled < 0 && errno != EINTR) std::abort();  // no key is better than one that is known
    if (filled > 0) bytes = bytes.subspan(static_cast<std::size_t>(filled));
  }
}

absl::StatusOr<Key> ReadKey(const std::string& file) {
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT) {
    return absl::NotFoundError(absl::StrCat(
        "key file ", file, ": not there (copy it from the computer where the network began)"));
  }
  if (fd < 0 && errno == EACCES) {  // another user's
    return absl::PermissionDeniedError(absl::StrCat("key file ", file, ": ", std::strerror(errno)));
  }
  if (fd < 0) return FileFailed(file, std::strerror(errno));
  absl::StatusOr<Key> key = ReadFrom(fd, file);
  close(fd);
  return key;
}

// Several processes may make it at the same time, on computers that share the folder: the file gets
// its name when it is whole, and the first one stays.
absl::StatusOr<Key> ReadOrMakeKey(const std::string& file) {
  absl::StatusOr<Key> known = ReadKey(file);
  if (known.status().code() != absl::StatusCode::kNotFound) return known;
  std::array<std::byte, 8> word;
  FillRandomly(word);
  std::string fresh = absl::StrCat(file, ".");
  for (const std::byte byte : word) absl::StrAppend(&fresh, absl::Hex(byte, absl::kZeroPad2));
  const absl::Status written = WriteNew(fresh, file);
  if (!written.ok()) return written;
  const bool named = link(fresh.c_str(), file.c_str()) == 0 || errno == EEXIST;
  const int error = errno;
  unlink(fresh.c_str());
  return named ? ReadKey(file) : FileFailed(file, std::strerror(error));
}

}  // namespace drydock::sim
