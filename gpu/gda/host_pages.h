// Whole pages of the host's memory, zero at first, which a driver can map into a device.

#ifndef DRYDOCK_GPU_GDA_HOST_PAGES_H_
#define DRYDOCK_GPU_GDA_HOST_PAGES_H_

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace drydock::gpu::gda {

// `bytes` in whole pages.
inline std::size_t RoundToPages(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

// Owns them.
class HostPages {
 public:
  // kResourceExhausted: the host has no room.
  static absl::StatusOr<HostPages> Allocate(std::size_t bytes) {
    bytes = RoundToPages(bytes);
    void* const memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      return absl::ResourceExhaustedError(absl::StrCat("no memory for ", bytes, " B of rings"));
    }
    return HostPages(static_cast<std::byte*>(memory), bytes);
  }
  HostPages(HostPages&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
  HostPages& operator=(HostPages other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~HostPages() {
    if (data_ != nullptr) munmap(data_, bytes_);
  }

  std::byte* data() const { return data_; }
  std::size_t size() const { return bytes_; }

 private:
  HostPages(std::byte* data, std::size_t bytes) : data_(data), bytes_(bytes) {}

  std::byte* data_;
  std::size_t bytes_;
};

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_HOST_PAGES_H_
