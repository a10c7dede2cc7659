#include "drydock/sim/hosts/sockets/frames.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace drydock::sim {
namespace {

constexpr std::size_t kLengthBytes = sizeof(std::uint32_t);

// What is asked for at once.
constexpr std::size_t kLeastCapacity = 1024;

// Bytes that a reader takes at once: several of the longest messages.
std::size_t MostAhead(std::size_t longest) { return 4 * (longest + kLengthBytes); }

}  // namespace

std::span<std::byte> ByteQueue::Room(std::size_t least) {
  if (size() + least > most_) return {};
  if (begin_ == end_) begin_ = end_ = 0;
  if (capacity_ - end_ < least) {
    std::size_t capacity = std::max(capacity_, kLeastCapacity);
    while (capacity < 2 * (size() + least)) capacity *= 2;
    if (capacity > capacity_) {
      auto memory = std::make_unique_for_overwrite<std::byte[]>(capacity);
      if (size() > 0) std::memcpy(memory.get(), memory_.get() + begin_, size());
      memory_ = std::move(memory);
      capacity_ = capacity;
    } else {
      std::memmove(memory_.get(), memory_.get() + begin_, size());
    }
    end_ = size();
    begin_ = 0;
  }
  return {memory_.get() + end_, std::min(capacity_ - end_, most_ - size())};
}

void ByteQueue::Drop(std::size_t bytes) { begin_ += bytes; }

FrameReader::FrameReader(std::size_t longest) : longest_(longest), queue_(MostAhead(longest)) {}

void FrameReader::Allow(std::size_t longest) {
  longest_ = longest;
  queue_.Allow(MostAhead(longest));
}

std::span<std::byte> FrameReader::Room() { return queue_.Room(longest_ + kLengthBytes); }

bool FrameReader::Next(std::span<const std::byte>& message) {
  const std::span<const std::byte> bytes = queue_.bytes();
  if (garbage_ || bytes.size() < kLengthBytes) return false;
  std::uint32_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  if (length == 0 || length > longest_) {
    garbage_ = true;
    return false;
  }
  if (bytes.size() - kLengthBytes < length) return false;
  message = bytes.subspan(kLengthBytes, length);
  return true;
}

void FrameReader::Release() {
  std::uint32_t length = 0;
  std::memcpy(&length, queue_.bytes().data(), kLengthBytes);
  queue_.Drop(kLengthBytes + length);
}

std::byte* FrameWriter::Reserve(std::size_t bytes) {
  const std::span<std::byte> room = queue_.Room(kLengthBytes + bytes);
  if (room.empty()) return nullptr;
  const auto length = static_cast<std::uint32_t>(bytes);
  std::memcpy(room.data(), &length, kLengthBytes);
  queue_.Add(kLengthBytes + bytes);
  return room.data() + kLengthBytes;
}

}  // namespace drydock::sim
