// The memory of one side: zero in the beginning, from its backend's memory resource.

#ifndef DRYDOCK_TESTING_CONTRACT_SIDE_MEMORY_H_
#define DRYDOCK_TESTING_CONTRACT_SIDE_MEMORY_H_

#include <cstddef>
#include <cstring>
#include <memory_resource>

namespace drydock::contract {

// Like a vector whose size changes once. (A vector with such an allocator fills byte by byte, which
// takes most of a test's time where nothing is optimised.)
class SideMemory {
 public:
  // `resource` outlives it. Empty.
  explicit SideMemory(std::pmr::memory_resource& resource) : resource_(resource) {}
  ~SideMemory() { Release(); }
  SideMemory(const SideMemory&) = delete;
  SideMemory& operator=(const SideMemory&) = delete;

  // Gives up its memory.
  void Allocate(std::size_t bytes) {
    Release();
    data_ = static_cast<std::byte*>(resource_.allocate(bytes, kAlignment));
    size_ = bytes;
    std::memset(data_, 0, size_);
  }

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::byte& operator[](std::size_t offset) const { return data_[offset]; }
  std::byte* begin() const { return data_; }
  std::byte* end() const { return data_ + size_; }

 private:
  static constexpr std::size_t kAlignment = alignof(std::max_align_t);

  void Release() {
    if (data_ != nullptr) resource_.deallocate(data_, size_, kAlignment);
  }

  std::pmr::memory_resource& resource_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace drydock::contract

#endif  // DRYDOCK_TESTING_CONTRACT_SIDE_MEMORY_H_
