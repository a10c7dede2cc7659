// A completion queue that is a ring in memory: what bare coroutines and our loop are both measured
// driving.

#ifndef DRYDOCK_TESTING_BENCHMARKS_COMPLETION_RING_H_
#define DRYDOCK_TESTING_BENCHMARKS_COMPLETION_RING_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace drydock::bench {

// What is posted completes at once, with success. A provider's queue is a call away: neither of the
// two functions may be inlined in any driver. Not thread-safe.
class CompletionRing {
 public:
  static constexpr std::size_t kEntries = 128;
  // What is read at a time.
  static constexpr std::size_t kBatch = 32;

  struct Entry {
    std::uint64_t name;  // of the operation, as it was posted
    std::uint32_t status;
    std::uint32_t length;
  };

  // REQUIRES: fewer than kEntries are posted and not read.
  [[gnu::noinline]] void Post(std::uint64_t name) { ring_[written_++ % kEntries] = {name, 0, 64}; }

  // Returns how many there were.
  [[gnu::noinline]] std::size_t Poll(std::span<Entry> entries) {
    std::size_t count = 0;
    while (count < entries.size() && read_ != written_) {
      entries[count++] = ring_[read_++ % kEntries];
    }
    return count;
  }

 private:
  std::array<Entry, kEntries> ring_{};
  std::uint64_t written_ = 0;
  std::uint64_t read_ = 0;
};

}  // namespace drydock::bench

#endif  // DRYDOCK_TESTING_BENCHMARKS_COMPLETION_RING_H_
