// Finds the device memory that a registration names, by address or by dmabuf, with a kernel's
// checks of the dmabuf. For implementations of Device.

#ifndef DRYDOCK_GPU_REGISTERED_MEMORY_H_
#define DRYDOCK_GPU_REGISTERED_MEMORY_H_

#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "drydock/fabric/memory.h"

namespace drydock::gpu {

// Checks that the request's range lies within its dmabuf, at the address that the request gives.
// `address`: the device's address of byte 0 of the dmabuf.
inline absl::Status CheckDmabufRange(const fabric::MemoryRequest& request, std::uint64_t address) {
  const std::uint64_t offset = request.dmabuf->offset_bytes;
  const off_t end = lseek(request.dmabuf->fd, 0, SEEK_END);
  const auto size = static_cast<std::uint64_t>(end < 0 ? 0 : end);
  if (offset > size || request.length_bytes > size - offset) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "register memory: %u bytes from %u reach past the end of the dmabuf, which has %u",
        request.length_bytes, offset, size));
  }
  if (reinterpret_cast<std::uint64_t>(request.data) == address + offset) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("register memory: byte %u of the dmabuf is at %#x, and the request says %p",
                      offset, address + offset, static_cast<const void*>(request.data)));
}

// Returns the one of `memories` that the request names. Memory has address(), length_bytes(),
// freed(), Holds(data, length) and IsDmabuf(device, inode). `device`: its name, for messages.
// kInvalidArgument: none of them holds the whole range, or the dmabuf cannot be used.
template <typename Memory>
absl::StatusOr<std::shared_ptr<Memory>> FindRegistered(
    const fabric::MemoryRequest& request, const std::vector<std::shared_ptr<Memory>>& memories,
    const std::string& device) {
  if (!request.dmabuf.has_value()) {
    for (const std::shared_ptr<Memory>& memory : memories) {
      if (!memory->freed() && memory->Holds(request.data, request.length_bytes)) return memory;
    }
    return absl::InvalidArgumentError(
        absl::StrFormat("register memory: %u bytes at %p are not memory of device %s",
                        request.length_bytes, static_cast<const void*>(request.data), device));
  }
  const int fd = request.dmabuf->fd;
  struct stat status {};
  if (fstat(fd, &status) != 0) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "register memory: dmabuf fd %d cannot be used: %s", fd, std::strerror(errno)));
  }
  for (const std::shared_ptr<Memory>& memory : memories) {
    if (!memory->IsDmabuf(status.st_dev, status.st_ino)) continue;
    const absl::Status in_range = CheckDmabufRange(request, memory->address());
    if (!in_range.ok()) return in_range;
    if (memory->Holds(request.data, request.length_bytes)) return memory;
    return absl::InvalidArgumentError(absl::StrFormat(
        "register memory: %u bytes from %u reach past the end of the %u that were allocated",
        request.length_bytes, request.dmabuf->offset_bytes, memory->length_bytes()));
  }
  return absl::InvalidArgumentError(
      absl::StrFormat("register memory: fd %d is no dmabuf of device %s", fd, device));
}

}  // namespace drydock::gpu

#endif  // DRYDOCK_GPU_REGISTERED_MEMORY_H_
