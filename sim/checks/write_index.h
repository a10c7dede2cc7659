// Which requests in flight write which bytes of the process's memory: found by address, without a
// look at all the others.

#ifndef DRYDOCK_SIM_CHECKS_WRITE_INDEX_H_
#define DRYDOCK_SIM_CHECKS_WRITE_INDEX_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "drydock/sim/checks/watched_queue.h"

namespace drydock::sim {

// A range is kept in the cell in which it begins, of a grid as coarse as the range is long: it
// reaches into the next cell at most. The links are in the requests: nothing is allocated.
class WriteIndex {
 public:
  // A look-up sees so many of those that begin in one cell, the latest first.
  static constexpr std::size_t kMostInCell = 8;

  WriteIndex() : cells_(kCells, nullptr) {}
  WriteIndex(const WriteIndex&) = delete;
  WriteIndex& operator=(const WriteIndex&) = delete;

  // REQUIRES: length > 0; the request is not in the index.
  void Insert(WatchedRequest& request, std::uint64_t address, std::uint64_t length) {
    request.target = address;
    request.target_length = length;
    request.level = LevelOf(length);
    Link(request, &WatchedRequest::cell, cells_[CellOf(request.level, address >> request.level)]);
    Link(request, &WatchedRequest::peers_of_level, levels_[request.level]);
    ++counts_[request.level];
    live_ |= std::uint64_t{1} << request.level;
  }

  // Nothing happens when it is not there.
  void Remove(WatchedRequest& request) {
    if (request.cell.before == nullptr) return;
    Unlink(request, &WatchedRequest::cell);
    Unlink(request, &WatchedRequest::peers_of_level);
    if (--counts_[request.level] == 0) live_ &= ~(std::uint64_t{1} << request.level);
  }

  // Calls visit(request) for those that write some of these bytes. REQUIRES: length > 0.
  template <typename Visit>
  void ForEachOverlapping(std::uint64_t address, std::uint64_t length, Visit visit) const {
    for (std::uint64_t levels = live_; levels != 0; levels &= levels - 1) {
      const auto level = static_cast<std::uint8_t>(std::countr_zero(levels));
      const std::uint64_t last = (address + length - 1) >> level;
      std::uint64_t cell = address >> level;
      if (cell > 0) --cell;
      if (last - cell > counts_[level]) {
        ScanLevel(level, address, length, visit);
        continue;
      }
      for (; cell <= last; ++cell) {
        ScanCell(level, cell, address, length, visit);
      }
    }
  }

 private:
  static constexpr std::uint8_t kFinest = 6;
  static constexpr std::uint8_t kLevels = 64;
  static constexpr unsigned kCellBits = 12;
  static constexpr std::size_t kCells = std::size_t{1} << kCellBits;
  static constexpr std::size_t kMostInList = 64;  // that are looked at

  static std::uint8_t LevelOf(std::uint64_t length) {
    const int bits = std::bit_width(length - 1);
    return static_cast<std::uint8_t>(std::clamp<int>(bits, kFinest, kLevels - 1));
  }
  // Mixed: programs write at strides of powers of two. No address reaches the level's bits.
  static std::size_t CellOf(std::uint8_t level, std::uint64_t cell) {
    return (cell + (std::uint64_t{level} << 58)) * 0x9e3779b97f4a7c15u >> (64 - kCellBits);
  }

  static void Link(WatchedRequest& request, WatchedRequest::Link WatchedRequest::*link,
                   WatchedRequest*& head) {
    WatchedRequest::Link& own = request.*link;
    own.next = head;
    own.before = &head;
    if (head != nullptr) (head->*link).before = &own.next;
    head = &request;
  }
  static void Unlink(WatchedRequest& request, WatchedRequest::Link WatchedRequest::*link) {
    WatchedRequest::Link& own = request.*link;
    *own.before = own.next;
    if (own.next != nullptr) (own.next->*link).before = own.before;
    own = {};
  }

  static bool Overlaps(const WatchedRequest& request, std::uint64_t address, std::uint64_t length) {
    return request.target < address + length && address < request.target + request.target_length;
  }

  template <typename Visit>
  void ScanLevel(std::uint8_t level, std::uint64_t address, std::uint64_t length,
                 Visit& visit) const {
    for (WatchedRequest* at = levels_[level]; at != nullptr; at = at->peers_of_level.next) {
      if (Overlaps(*at, address, length)) visit(*at);
    }
  }

  // The list has requests of other cells, too, which hash to the same place: they do not count.
  template <typename Visit>
  void ScanCell(std::uint8_t level, std::uint64_t cell, std::uint64_t address, std::uint64_t length,
                Visit& visit) const {
    std::size_t begin_there = 0;
    std::size_t looked_at = 0;
    for (WatchedRequest* at = cells_[CellOf(level, cell)];
         at != nullptr && begin_there < kMostInCell && looked_at < kMostInList;
         at = at->cell.next) {
      ++looked_at;
      if (at->level != level || at->target >> level != cell) continue;
      ++begin_there;
      if (Overlaps(*at, address, length)) visit(*at);
    }
  }

  std::vector<WatchedRequest*> cells_;
  std::array<WatchedRequest*, kLevels> levels_{};
  std::array<std::uint64_t, kLevels> counts_{};
  std::uint64_t live_ = 0;  // a bit for each level that has some
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_CHECKS_WRITE_INDEX_H_
