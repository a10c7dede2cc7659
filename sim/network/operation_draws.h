// The random words of one operation, for its packets and their placement.

#ifndef DRYDOCK_SIM_NETWORK_OPERATION_DRAWS_H_
#define DRYDOCK_SIM_NETWORK_OPERATION_DRAWS_H_

#include <cstdint>

#include "drydock/sim/random.h"

namespace drydock::sim {

// The purpose of a word. Part of the key: never renumber, only append.
enum class DrawPurpose : std::uint64_t {
  kRequest = 0,   // the flight of a packet of the operation's own
  kResponse = 1,  // of a packet of the data that it reads
  kAnswer = 2,    // of the answer
  kPlacement = 3,
};

// A word depends on the seed, the operation and the numbers that name it, on nothing else. A value.
class OperationDraws {
 public:
  OperationDraws() = default;
  // `base`: of the world; `operation`: its sequence.
  OperationDraws(std::uint64_t base, std::uint64_t operation)
      : key_(Mix(base + operation * kOdd)) {}

  // Word `number` (below 256) for this purpose and packet.
  std::uint64_t Word(DrawPurpose purpose, std::uint32_t packet, unsigned number) const {
    const std::uint64_t name =
        static_cast<std::uint64_t>(purpose) << 40 | std::uint64_t{packet} << 8 | number;
    return Mix(key_ + name * kOdd);
  }

 private:
  static constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15ull;

  std::uint64_t key_ = 0;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_NETWORK_OPERATION_DRAWS_H_
