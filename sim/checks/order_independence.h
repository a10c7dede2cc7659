// Whether a program comes to the same result whatever the order in which things arrive.
//
// A network that promises no order has many runs for one program, one a seed. A program that is
// right comes to the same state in all of them; one that is right only where the last write lands
// last does not. The check need not know the right state: two runs that differ are enough.

#ifndef DRYDOCK_SIM_CHECKS_ORDER_INDEPENDENCE_H_
#define DRYDOCK_SIM_CHECKS_ORDER_INDEPENDENCE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "drydock/sim/checks/finding.h"
#include "drydock/sim/events/event_log.h"

namespace drydock::sim {

// A hash of 128 bits over a program's state, as the program adds it. The program leaves out values
// that may differ: times, contexts, the order of arrival itself.
class StateHash {
 public:
  void Add(std::uint64_t word);
  void Add(std::span<const std::byte> bytes);

  const Digest& digest() const { return digest_; }

 private:
  Digest digest_;
};

// Runs `run` with `count` seeds from `first_seed` on, up to the first two whose states differ: the
// finding names both. `run` returns the state at its end, or nothing where it found no state to
// compare (it failed, and said so by other means); it must not make data of the seed.
// REQUIRES: count > 0.
std::optional<Finding> CheckOrderIndependence(
    std::uint64_t first_seed, std::uint64_t count,
    const std::function<std::optional<Digest>(std::uint64_t seed)>& run);

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_CHECKS_ORDER_INDEPENDENCE_H_
