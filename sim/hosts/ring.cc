#include "drydock/sim/hosts/ring.h"

#include <algorithm>
#include <atomic>

namespace drydock::sim {
namespace {

// In the first word of a record, its upper half.
constexpr std::uint64_t kMessage = 1;
constexpr std::uint64_t kFiller = 2;

constexpr std::size_t kPrefixBytes = 8;
constexpr std::size_t kTailAt = 64;
constexpr std::size_t kHeadAt = 128;
constexpr std::size_t kLeastCapacity = 64;

std::atomic_ref<std::uint64_t> Word(std::byte* at) {
  return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(at));
}

constexpr std::uint64_t RoundUp(std::uint64_t bytes) { return (bytes + 7) / 8 * 8; }

}  // namespace

// ---- The writer ----

RingWriter::RingWriter(std::span<std::byte> memory)
    : memory_(memory.data()), capacity_(memory.size() - kRingHeaderBytes) {
  Word(memory_).store(capacity_, std::memory_order_release);
}

std::size_t RingWriter::longest() const { return capacity_ / 2 - kPrefixBytes; }

std::uint64_t RingWriter::Room() {
  seen_head_ = Word(memory_ + kHeadAt).load(std::memory_order_acquire);
  const std::uint64_t used = tail_ - seen_head_;
  if (used > capacity_ || used % 8 != 0) {
    broken_ = true;
    return 0;
  }
  return capacity_ - used;
}

std::byte* RingWriter::Reserve(std::size_t bytes) {
  if (broken_ || bytes > longest()) return nullptr;
  const std::uint64_t record = kPrefixBytes + RoundUp(bytes);
  const std::uint64_t offset = tail_ & (capacity_ - 1);
  const std::uint64_t to_end = capacity_ - offset;
  const std::uint64_t filler = record <= to_end ? 0 : to_end;
  if (capacity_ - (tail_ - seen_head_) < filler + record && Room() < filler + record) {
    return nullptr;
  }
  std::byte* const data = memory_ + kRingHeaderBytes;
  if (filler > 0) {
    Word(data + offset).store(kFiller << 32 | filler, std::memory_order_relaxed);
    tail_ += filler;
  }
  std::byte* const at = data + (tail_ & (capacity_ - 1));
  Word(at).store(kMessage << 32 | record, std::memory_order_relaxed);
  tail_ += record;
  return at + kPrefixBytes;
}

void RingWriter::Publish() { Word(memory_ + kTailAt).store(tail_, std::memory_order_seq_cst); }

bool RingWriter::drained() const {
  return Word(memory_ + kHeadAt).load(std::memory_order_acquire) == tail_;
}

// ---- The reader ----

bool RingReader::IsMade(std::span<std::byte> memory) {
  return memory.size() < sizeof(std::uint64_t) ||
         Word(memory.data()).load(std::memory_order_acquire) != 0;
}

RingReader::RingReader(std::span<std::byte> memory) : memory_(memory.data()) {
  if (memory.size() < RingBytes(kLeastCapacity)) return;
  const std::uint64_t capacity = memory.size() - kRingHeaderBytes;
  const bool sound =
      (capacity & (capacity - 1)) == 0 && Word(memory_).load(std::memory_order_acquire) == capacity;
  if (sound) capacity_ = capacity;
}

RingReader::Result RingReader::Next(std::span<const std::byte>& message) {
  if (capacity_ == 0) return Result::kGarbage;
  const std::uint64_t tail = Word(memory_ + kTailAt).load(std::memory_order_seq_cst);
  while (tail != head_) {
    const std::uint64_t written = tail - head_;
    if (written > capacity_ || written % 8 != 0) return Result::kGarbage;
    const std::uint64_t offset = head_ & (capacity_ - 1);
    std::byte* const at = memory_ + kRingHeaderBytes + offset;
    const std::uint64_t prefix = Word(at).load(std::memory_order_relaxed);
    const std::uint64_t size = prefix & 0xffffffffu;
    const std::uint64_t most = std::min(written, capacity_ - offset);
    if (size < kPrefixBytes || size % 8 != 0 || size > most) return Result::kGarbage;
    if (prefix >> 32 == kMessage) {
      if (size == kPrefixBytes) return Result::kGarbage;
      size_ = size;
      message = {at + kPrefixBytes, size - kPrefixBytes};
      return Result::kMessage;
    }
    if (prefix >> 32 != kFiller) return Result::kGarbage;
    head_ += size;
    Word(memory_ + kHeadAt).store(head_, std::memory_order_release);
  }
  return Result::kNone;
}

void RingReader::Release() {
  head_ += size_;
  size_ = 0;
  Word(memory_ + kHeadAt).store(head_, std::memory_order_release);
}

}  // namespace drydock::sim
