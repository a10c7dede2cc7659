// Puts a peer's messages back into the order in which they were sent: the device below delivers in
// any.

#ifndef DRYDOCK_SIM_RDM_REORDER_WINDOW_H_
#define DRYDOCK_SIM_RDM_REORDER_WINDOW_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace drydock::sim::rdm {

// A packet that came before its turn, copied out of the receive pool.
using HeldPacket = std::vector<std::byte>;

// Messages are numbered from `first` on, and numbers wrap around. One number may have several
// packets. As at the provider, packets further ahead than the window are kept in an overflow list;
// only a count tells the difference (ofiwg/libfabric prov/efa/src/rdm/efa_rdm_peer.c).
class ReorderWindow {
 public:
  // Holds packets of `most_bytes` in all.
  explicit ReorderWindow(std::uint32_t window, std::uint32_t first = 0,
                         std::uint64_t most_bytes = UINT64_MAX)
      : window_(window), most_bytes_(most_bytes), due_(first) {}

  // What a packet of so many bytes counts while it is held, with the cost of holding it: the
  // shortest packets are the most.
  static constexpr std::uint64_t HeldBytes(std::uint64_t packet_bytes) {
    return packet_bytes + 128;
  }

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

  // False, and no effect, when there is no room. REQUIRES: TurnOf(number) is kEarly.
  bool Hold(std::uint32_t number, HeldPacket packet) {
    const std::uint64_t bytes = BytesOf(packet);
    if (bytes > most_bytes_ - held_bytes_) return false;
    held_bytes_ += bytes;
    if (number - due_ >= window_) ++overflowed_;
    held_[number].push_back(std::move(packet));
    return true;
  }

  // The message that was due has been handled: returns the packets of the one that is due now.
  std::vector<HeldPacket> Next() {
    ++due_;
    return TakeDue();
  }

  // Packets of the message that is due, if it was held.
  std::vector<HeldPacket> TakeDue() {
    const auto found = held_.find(due_);
    if (found == held_.end()) return {};
    std::vector<HeldPacket> packets = std::move(found->second);
    held_.erase(found);
    for (const HeldPacket& packet : packets) held_bytes_ -= BytesOf(packet);
    return packets;
  }

  // They cannot be handled now.
  void KeepDue(std::vector<HeldPacket> packets) {
    for (const HeldPacket& packet : packets) held_bytes_ += BytesOf(packet);
    held_[due_] = std::move(packets);
  }

  // Calls `visit` for every packet that is held.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const auto& [number, packets] : held_) {
      for (const HeldPacket& packet : packets) visit(packet);
    }
  }

  std::uint32_t due() const { return due_; }
  // Packets that were beyond the window when they came.
  std::uint64_t overflowed() const { return overflowed_; }

 private:
  static constexpr std::uint32_t kHalf = std::uint32_t{1} << 31;

  static std::uint64_t BytesOf(const HeldPacket& packet) { return HeldBytes(packet.size()); }

  std::uint32_t window_;
  std::uint64_t most_bytes_;
  std::uint64_t held_bytes_ = 0;
  std::uint32_t due_;
  std::uint64_t overflowed_ = 0;
  std::map<std::uint32_t, std::vector<HeldPacket>> held_;
};

}  // namespace drydock::sim::rdm

#endif  // DRYDOCK_SIM_RDM_REORDER_WINDOW_H_
