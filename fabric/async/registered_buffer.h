// Memory that a NIC may use, shared by all that need it to stay: coroutines, and operations in
// flight.
//
// A dropped or timed-out operation is no reason for the NIC to stop writing. So an operation holds
// a share of its buffer until its completion was read, whatever happens to the coroutine that
// started it.

#ifndef DRYDOCK_FABRIC_ASYNC_REGISTERED_BUFFER_H_
#define DRYDOCK_FABRIC_ASYNC_REGISTERED_BUFFER_H_

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "absl/status/statusor.h"
#include "drydock/coro/check.h"
#include "drydock/fabric/domain.h"
#include "drydock/fabric/memory.h"

namespace drydock::fabric::async {

// Memory and its registration; the registration goes first. Not thread-safe: its owners are on one
// loop.
class RegisteredBuffer {
 public:
  // `memory` keeps the bytes, the host's or a device's; null: they are kept elsewhere.
  RegisteredBuffer(std::shared_ptr<void> memory, std::unique_ptr<MemoryRegion> region)
      : memory_(std::move(memory)), region_(std::move(region)) {}

  // Where it is. Of a device's memory these are addresses that the host must not touch.
  std::span<std::byte> bytes() { return {region_->data(), region_->length_bytes()}; }
  MemoryRegion& region() { return *region_; }

  RegisteredBuffer(const RegisteredBuffer&) = delete;
  RegisteredBuffer& operator=(const RegisteredBuffer&) = delete;

 private:
  friend class BufferRef;

  std::size_t shares_ = 0;
  std::shared_ptr<void> memory_;
  std::unique_ptr<MemoryRegion> region_;
};

// A share in a buffer. Counted without atomics: every operation takes one and gives it back. Not
// thread-safe, as the buffer.
class BufferRef {
 public:
  // A share of no buffer.
  BufferRef() = default;
  BufferRef(std::nullptr_t) {}  // NOLINT: as a pointer is made from nullptr
  // The first share. The buffer goes with the last one.
  explicit BufferRef(std::unique_ptr<RegisteredBuffer> buffer) : buffer_(buffer.release()) {
    if (buffer_ != nullptr) buffer_->shares_ = 1;
  }
  BufferRef(const BufferRef& other) : buffer_(other.buffer_) {
    if (buffer_ != nullptr) ++buffer_->shares_;
  }
  BufferRef(BufferRef&& other) noexcept : buffer_(std::exchange(other.buffer_, nullptr)) {}
  BufferRef& operator=(const BufferRef& other) noexcept {
    if (other.buffer_ != nullptr) ++other.buffer_->shares_;
    GiveBack(std::exchange(buffer_, other.buffer_));
    return *this;
  }
  BufferRef& operator=(BufferRef&& other) noexcept {
    GiveBack(std::exchange(buffer_, std::exchange(other.buffer_, nullptr)));
    return *this;
  }
  ~BufferRef() { GiveBack(buffer_); }

  RegisteredBuffer* get() const { return buffer_; }
  RegisteredBuffer& operator*() const { return *buffer_; }
  RegisteredBuffer* operator->() const { return buffer_; }
  explicit operator bool() const { return buffer_ != nullptr; }
  friend bool operator==(const BufferRef& a, const BufferRef& b) { return a.buffer_ == b.buffer_; }
  friend bool operator==(const BufferRef& a, std::nullptr_t) { return a.buffer_ == nullptr; }

  void reset() { GiveBack(std::exchange(buffer_, nullptr)); }
  // How many shares there are; 0 of nothing.
  std::size_t use_count() const { return buffer_ == nullptr ? 0 : buffer_->shares_; }

 private:
  static void GiveBack(RegisteredBuffer* buffer) {
    if (buffer != nullptr && --buffer->shares_ == 0) [[unlikely]]
      Free(buffer);
  }
  static void Free(RegisteredBuffer* buffer);

  RegisteredBuffer* buffer_ = nullptr;
};

// Allocates `length_bytes` zero bytes, of no particular alignment, and registers them.
// Errors: those of Domain::RegisterMemory.
absl::StatusOr<BufferRef> AllocateBuffer(Domain& domain, std::size_t length_bytes,
                                         Access access = Access::kAll);

// A piece of a buffer, and a share in it. (A class with a constructor, not an aggregate: see
// docs/coroutine-traps.md.)
class BufferSlice {
 public:
  // Empty: for receives and sends of nothing.
  BufferSlice() = default;
  // The whole buffer. Not explicit: a buffer is a slice of itself.
  BufferSlice(BufferRef buffer) : BufferSlice(buffer, 0, buffer->bytes().size()) {}  // NOLINT
  // REQUIRES: the range lies within the buffer.
  BufferSlice(BufferRef buffer, std::size_t offset, std::size_t length)
      : buffer_(std::move(buffer)), local_(buffer_->region().Local(offset, length)) {
    DD_CHECK(offset <= buffer_->bytes().size() && length <= buffer_->bytes().size() - offset,
             "slice past the end of its buffer");
  }

  const BufferRef& buffer() const { return buffer_; }
  const LocalBuffer& local() const { return local_; }
  std::span<std::byte> bytes() const { return {local_.data, local_.length_bytes}; }

 private:
  BufferRef buffer_;
  LocalBuffer local_;
};

}  // namespace drydock::fabric::async

#endif  // DRYDOCK_FABRIC_ASYNC_REGISTERED_BUFFER_H_
