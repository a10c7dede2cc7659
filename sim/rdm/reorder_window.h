// Puts a peer's messages back into the order in which they were sent: the device below delivers in
// any.

#ifndef SIM_RDM_REORDER_WINDOW_H_
#define SIM_RDM_REORDER_WINDOW_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace sim::rdm {

// A packet that came before its turn, copied out of the receive pool.
using HeldPacket = std::vector<std::byte>;

// Messages are numbered from `first` on, and numbers wrap around. One number may have several
// packets. As at the provider, what is further ahead than the window is kept in an overflow list;
// only a count tells the difference (ofiwg/libfabric prov/efa/src/rdm/efa_rdm_peer.c).
class ReorderWindow {
 public:
  explicit ReorderWindow(std::uint32_t window, std::uint32_t first = 0)
      : window_(window), due_(first) {}

  enum class Turn : std::uint8_t {
    kDue,    // handle it now, then call Next
    kEarly,  // hold it
    kPast,   // the rest of a message that was begun, or a repetition
  };
  Turn TurnOf(std::uint32_t number) const {
    const std::uint32_t ahead = number - due_;
    if (ahead == 0) return Turn::kDue;
    return ahead < kHalf ? Turn::kEarly : Turn::kPast;
  }

  // REQUIRES: TurnOf(number) is kEarly.
  void Hold(std::uint32_t number, HeldPacket packet) {
    if (number - due_ >= window_) ++overflowed_;
    held_[number].push_back(std::move(packet));
  }

  // The message that was due has been handled: returns the packets of the one that is due now.
  std::vector<HeldPacket> Next() {
    const auto found = held_.find(++due_);
    if (found == held_.end()) return {};
    std::vector<HeldPacket> packets = std::move(found->second);
    held_.erase(found);
    return packets;
  }

  std::uint32_t due() const { return due_; }
  // Packets that were beyond the window when they came.
  std::uint64_t overflowed() const { return overflowed_; }

 private:
  static constexpr std::uint32_t kHalf = std::uint32_t{1} << 31;

  std::uint32_t window_;
  std::uint32_t due_;
  std::uint64_t overflowed_ = 0;
  std::map<std::uint32_t, std::vector<HeldPacket>> held_;
};

}  // namespace sim::rdm

#endif  // SIM_RDM_REORDER_WINDOW_H_
