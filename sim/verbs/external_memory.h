// Memory of a program's, given as a dmabuf, that the simulated device writes.

#ifndef DRYDOCK_SIM_VERBS_EXTERNAL_MEMORY_H_
#define DRYDOCK_SIM_VERBS_EXTERNAL_MEMORY_H_

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace drydock::sim::verbs {

// A view of it, for as long as this lives. Moves.
class ExternalMemory {
 public:
  ExternalMemory() = default;
  ExternalMemory(ExternalMemory&& other) noexcept
      : mapping_(std::exchange(other.mapping_, nullptr)),
        bytes_(other.bytes_),
        data_(std::exchange(other.data_, nullptr)) {}
  ExternalMemory& operator=(ExternalMemory&&) = delete;
  ~ExternalMemory() {
    if (mapping_ != nullptr) munmap(mapping_, bytes_);
  }

  // `length` bytes of the dmabuf from `offset`, of which `needed` are used. 0, or an errno: EINVAL:
  // too few, past the dmabuf's end, or the offset is no multiple of 8; EOPNOTSUPP: the host cannot
  // reach that memory, as a GPU's: where there is no device, nothing can write it.
  int Map(int fd, std::uint64_t offset, std::uint64_t length, std::uint64_t needed) {
    if (length < needed || offset % 8 != 0) return EINVAL;
    // Bytes past its end can be mapped, and end the process that touches them.
    const off_t size = lseek(fd, 0, SEEK_END);
    if (size < 0) return errno == EBADF ? EINVAL : EOPNOTSUPP;
    const auto bytes = static_cast<std::uint64_t>(size);
    if (needed > bytes || offset > bytes - needed) return EINVAL;
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    const std::uint64_t before = offset % page;
    bytes_ = before + needed;
    void* mapping = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                         static_cast<off_t>(offset - before));
    if (mapping == MAP_FAILED) return errno == EBADF ? EINVAL : EOPNOTSUPP;
    mapping_ = mapping;
    data_ = static_cast<std::byte*>(mapping) + before;
    return 0;
  }

  std::byte* data() const { return data_; }  // null: not mapped

 private:
  void* mapping_ = nullptr;
  std::size_t bytes_ = 0;
  std::byte* data_ = nullptr;
};

}  // namespace drydock::sim::verbs

#endif  // DRYDOCK_SIM_VERBS_EXTERNAL_MEMORY_H_
