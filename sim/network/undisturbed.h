// Operations that travel as on a quiet network, while others do not: how a failing run is made
// simpler without being made shorter.

#ifndef DRYDOCK_SIM_NETWORK_UNDISTURBED_H_
#define DRYDOCK_SIM_NETWORK_UNDISTURBED_H_

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace drydock::sim {

// A set of operations, by their sequence (sim/device/operation.h). What is drawn for an undisturbed
// one is always the most benign: the least delay, no loss, no second copy, no placement in two
// steps, and its turn among the other undisturbed ones of its NIC. A value; empty unless AllBut
// made it.
class Undisturbed {
 public:
  Undisturbed() = default;
  // All operations but these.
  static Undisturbed AllBut(std::vector<std::uint64_t> disturbed) {
    Undisturbed set;
    set.any_ = true;
    set.disturbed_ = std::move(disturbed);
    std::sort(set.disturbed_.begin(), set.disturbed_.end());
    return set;
  }

  bool any() const { return any_; }
  bool Has(std::uint64_t sequence) const {
    return any_ && !std::binary_search(disturbed_.begin(), disturbed_.end(), sequence);
  }

 private:
  bool any_ = false;
  std::vector<std::uint64_t> disturbed_;  // sorted
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_NETWORK_UNDISTURBED_H_
