// Which bytes of a message have arrived.

#ifndef DRYDOCK_SIM_RDM_RANGE_SET_H_
#define DRYDOCK_SIM_RDM_RANGE_SET_H_

#include <cstdint>
#include <iterator>
#include <map>

namespace drydock::sim::rdm {

// Invariant: no byte is counted twice, even if a peer repeats it. Adjacent ranges are one.
class RangeSet {
 public:
  // Adds [offset, offset + length); false, and no effect, if a byte of it was there before.
  // REQUIRES: offset + length does not wrap around. An empty range is added to no effect.
  bool Add(std::uint64_t offset, std::uint64_t length) {
    if (length == 0) return true;
    const std::uint64_t end = offset + length;
    auto next = ranges_.lower_bound(offset);
    if (next != ranges_.end() && next->first < end) return false;
    auto before = next == ranges_.begin() ? ranges_.end() : std::prev(next);
    if (before != ranges_.end() && before->second > offset) return false;
    total_ += length;
    const bool joins_next = next != ranges_.end() && next->first == end;
    const std::uint64_t new_end = joins_next ? next->second : end;
    if (joins_next) ranges_.erase(next);
    if (before != ranges_.end() && before->second == offset) {
      before->second = new_end;
    } else {
      ranges_.emplace(offset, new_end);
    }
    return true;
  }

  // Bytes in all.
  std::uint64_t total() const { return total_; }

 private:
  std::map<std::uint64_t, std::uint64_t> ranges_;  // start -> end
  std::uint64_t total_ = 0;
};

}  // namespace drydock::sim::rdm

#endif  // DRYDOCK_SIM_RDM_RANGE_SET_H_
