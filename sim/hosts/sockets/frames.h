// Messages in a stream of bytes: each has its length in front.
//
//   | length, 4 bytes, little endian | message | length | message | ...
//
// The stream comes in pieces of any size, from any sender: an impossible length ends it.

#ifndef DRYDOCK_SIM_HOSTS_SOCKETS_FRAMES_H_
#define DRYDOCK_SIM_HOSTS_SOCKETS_FRAMES_H_

#include <cstddef>
#include <memory>
#include <span>

namespace drydock::sim {

// Bytes between two positions of memory that grows to a limit, in the order in which they came.
class ByteQueue {
 public:
  // Holds at most `most` bytes.
  explicit ByteQueue(std::size_t most) : most_(most) {}

  std::span<std::byte> bytes() { return {memory_.get() + begin_, end_ - begin_}; }
  std::span<const std::byte> bytes() const { return {memory_.get() + begin_, end_ - begin_}; }
  std::size_t size() const { return end_ - begin_; }

  // Where the next `least` bytes or more go; empty: there is no room for them.
  std::span<std::byte> Room(std::size_t least);
  // So many bytes were written there.
  void Add(std::size_t bytes) { end_ += bytes; }
  void Drop(std::size_t bytes);
  void Allow(std::size_t most) { most_ = most; }

 private:
  std::size_t most_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::unique_ptr<std::byte[]> memory_;
};

// Not thread-safe.
class FrameReader {
 public:
  // Messages have 1 to `longest` bytes.
  explicit FrameReader(std::size_t longest);
  void Allow(std::size_t longest);

  // Where bytes of the stream go next; never empty while Next is called until it returns false.
  std::span<std::byte> Room();
  void Add(std::size_t bytes) { queue_.Add(bytes); }
  // The oldest message, which stays where it is until Release. False: none is whole.
  bool Next(std::span<const std::byte>& message);
  void Release();
  // A length was nonsense: nothing follows.
  bool garbage() const { return garbage_; }

 private:
  std::size_t longest_;
  ByteQueue queue_;
  bool garbage_ = false;
};

// Not thread-safe.
class FrameWriter {
 public:
  // Holds back at most `most` bytes.
  explicit FrameWriter(std::size_t most) : queue_(most) {}

  // Where a message of `bytes` goes; null: there is no room until some are taken.
  std::byte* Reserve(std::size_t bytes);
  std::span<const std::byte> unsent() const { return queue_.bytes(); }
  void Sent(std::size_t bytes) { queue_.Drop(bytes); }

 private:
  ByteQueue queue_;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_SOCKETS_FRAMES_H_
