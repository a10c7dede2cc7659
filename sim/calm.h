// Operations that travel as on a quiet network, while others do not: how a run is made simpler
// without being made shorter.

#ifndef SIM_CALM_H_
#define SIM_CALM_H_

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace sim {

// A set of operations, by their sequence (sim/operation.h). What is drawn for a calm one is always
// the most benign: the least delay, no loss, no second copy, no placement in two steps, and its
// turn among the other calm ones of its NIC. A value; without operations unless said otherwise.
class Calm {
 public:
  Calm() = default;
  // All operations but these.
  static Calm AllBut(std::vector<std::uint64_t> wild) {
    Calm calm;
    calm.any_ = true;
    calm.wild_ = std::move(wild);
    std::sort(calm.wild_.begin(), calm.wild_.end());
    return calm;
  }

  bool any() const { return any_; }
  bool Has(std::uint64_t sequence) const {
    return any_ && !std::binary_search(wild_.begin(), wild_.end(), sequence);
  }

 private:
  bool any_ = false;
  std::vector<std::uint64_t> wild_;  // sorted
};

}  // namespace sim

#endif  // SIM_CALM_H_
