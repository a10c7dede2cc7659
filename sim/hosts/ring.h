// A stream of messages from one process to another, in memory that both have mapped: one writes,
// one reads, neither waits.
//
//   | capacity | tail: the writer's | head: the reader's | data ...                  |
//     data:  [size, kind, message] [size, kind, message] [size, kind: filler to the end]
//
// Each side trusts its own position only. The other side's values are checked before use: none of
// them makes a side read or write outside the data.

#ifndef DRYDOCK_SIM_HOSTS_RING_H_
#define DRYDOCK_SIM_HOSTS_RING_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace drydock::sim {

// Bytes in front of the data.
inline constexpr std::size_t kRingHeaderBytes = 256;

// Bytes of memory for a ring with `capacity` bytes of data, a power of two.
constexpr std::size_t RingBytes(std::size_t capacity) { return kRingHeaderBytes + capacity; }

// Not thread-safe; the other side is another thread or process. The memory outlives it.
class RingWriter {
 public:
  // Makes a ring of the memory, which is zeros. REQUIRES: RingBytes of a power of two that is at
  // least 64; aligned to 64 bytes.
  explicit RingWriter(std::span<std::byte> memory);

  // Where a message of `bytes` goes, 8-byte aligned; null: there is no room now. The reader sees it
  // after Publish. REQUIRES: bytes > 0.
  std::byte* Reserve(std::size_t bytes);
  void Publish();
  // Whether everything that was published has been read.
  bool drained() const;
  // The reader's position makes no sense: Reserve never has room again.
  bool broken() const { return broken_; }
  // The longest message that this ring takes when it is empty.
  std::size_t longest() const;

 private:
  std::uint64_t Room();

  std::byte* const memory_;
  const std::uint64_t capacity_;
  std::uint64_t tail_ = 0;
  std::uint64_t seen_head_ = 0;
  bool broken_ = false;
};

// Not thread-safe, as RingWriter.
class RingReader {
 public:
  // False: its writer has not made a ring of the memory yet.
  static bool IsMade(std::span<std::byte> memory);

  explicit RingReader(std::span<std::byte> memory);

  enum class Result : std::uint8_t { kNone, kMessage, kGarbage };
  // The oldest message. Its bytes stay where they are until Release; the writer may still change
  // them: copy fields before checking them. kGarbage: the writer is not to be trusted, and the ring
  // not to be read again.
  Result Next(std::span<const std::byte>& message);
  // REQUIRES: Next returned a message.
  void Release();

 private:
  std::byte* const memory_;
  std::uint64_t capacity_ = 0;  // 0: this is no ring
  std::uint64_t head_ = 0;
  std::uint64_t size_ = 0;  // of the message that Next returned
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_RING_H_
