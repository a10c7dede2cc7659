// What the first two random words of a packet decide, which are all that most packets need.

#ifndef DRYDOCK_SIM_NETWORK_PACKET_DRAWS_H_
#define DRYDOCK_SIM_NETWORK_PACKET_DRAWS_H_

#include <cstdint>

#include "drydock/sim/network/operation_draws.h"
#include "drydock/sim/random.h"

namespace drydock::sim {

// The words of a packet by their numbers. Part of the key: never renumber, only append.
namespace PacketWord {
enum : unsigned { kChoices, kDelays, kTail, kSecondCopy, kPathSpread, kLosses };
}

// A draw that is true once in so many words; 0: never. A value.
class OneIn {
 public:
  explicit constexpr OneIn(std::uint32_t many)
      : limit_(many == 0   ? 0
               : many == 1 ? UINT64_MAX
                           : UINT64_MAX / many + 1) {}
  constexpr bool operator()(std::uint64_t word) const { return word < limit_; }

 private:
  std::uint64_t limit_;  // of the words for which it is true: Below(word, many) is 0
};

// Each field as a word of its own, whose top bits decide. A value.
class PacketDraws {
 public:
  PacketDraws(const OperationDraws& draws, DrawPurpose purpose, std::uint32_t packet)
      : choices_(draws.Word(purpose, packet, PacketWord::kChoices)),
        delays_(draws.Word(purpose, packet, PacketWord::kDelays)) {}

  std::uint64_t path() const { return choices_; }
  std::uint64_t copy() const { return choices_ << 16; }
  std::uint64_t loss() const { return choices_ << 40; }
  std::uint64_t jitter() const { return delays_; }
  std::uint64_t tail() const { return delays_ << 32; }

 private:
  std::uint64_t choices_;
  std::uint64_t delays_;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_NETWORK_PACKET_DRAWS_H_
