// Operations that travel as on a quiet network, while others do not: they make a failing run
// simpler without making it shorter.

#ifndef DRYDOCK_SIM_NETWORK_UNDISTURBED_H_
#define DRYDOCK_SIM_NETWORK_UNDISTURBED_H_

#include <algorithm>
#include <cstdint>
#include <span>

namespace drydock::sim {

// A set of operations, by their sequence (sim/device/operation.h). The draws of an undisturbed one
// are always the most benign: the least delay, no loss, no second copy, no placement in two steps,
// and its turn among the other undisturbed ones of its NIC; under a scheduler, which draws nothing,
// its turn alone (sim/events/step_pool.h). A value; empty unless AllBut made it.
class Undisturbed {
 public:
  Undisturbed() = default;
  // All operations but these, which are read where they lie. `before`: how many operations their
  // numbers count before the first one of this world. REQUIRES: sorted; outlives the set.
  static Undisturbed AllBut(std::span<const std::uint64_t> disturbed, std::uint64_t before = 0) {
    Undisturbed set;
    set.any_ = true;
    set.disturbed_ = disturbed;
    set.before_ = before;
    return set;
  }

  bool any() const { return any_; }
  bool Has(std::uint64_t sequence) const {
    return any_ && !std::binary_search(disturbed_.begin(), disturbed_.end(), before_ + sequence);
  }

 private:
  bool any_ = false;
  std::span<const std::uint64_t> disturbed_;
  std::uint64_t before_ = 0;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_NETWORK_UNDISTURBED_H_
