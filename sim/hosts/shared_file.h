// A file in shared memory, mapped.

#ifndef DRYDOCK_SIM_HOSTS_SHARED_FILE_H_
#define DRYDOCK_SIM_HOSTS_SHARED_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace drydock::sim {

// The folder of shared memory: "/dev/shm/".
extern const char* const kSharedFolder;

// A move-only mapping, readable and writable; it outlives the file's name. Only files of this user
// that no other user may open are mapped.
class SharedFile {
 public:
  // A new file of `bytes` zeros. kAlreadyExists; kResourceExhausted: no room, descriptor or memory;
  // kUnavailable: anything else.
  static absl::StatusOr<SharedFile> Make(const std::string& name, std::size_t bytes);
  // One that is there, and not empty. kNotFound; kResourceExhausted; kUnavailable: it is longer than
  // `most`, or anything else.
  static absl::StatusOr<SharedFile> Open(const std::string& name, std::size_t most);
  // The file behind `fd`, which stays the caller's, made `bytes` long. Codes: as Make.
  static absl::StatusOr<SharedFile> Map(int fd, std::size_t bytes);
  // The file has no name any more, if it had this one.
  static void Unlink(const std::string& name);

  SharedFile() = default;
  SharedFile(SharedFile&& other) noexcept;
  SharedFile& operator=(SharedFile&& other) noexcept;
  ~SharedFile();

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  SharedFile(std::byte* data, std::size_t size) : data_(data), size_(size) {}

  std::byte* data_ = nullptr;  // null: nothing is mapped
  std::size_t size_ = 0;
};

// Whether the open file is a plain one of this user that no other user may open.
bool IsOurs(int fd);

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_SHARED_FILE_H_
