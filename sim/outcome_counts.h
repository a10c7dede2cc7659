// How the operations of one NIC have ended: a count for each kind and status.

#ifndef SIM_OUTCOME_COUNTS_H_
#define SIM_OUTCOME_COUNTS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "fabric/operation.h"
#include "sim/efa_status.h"

namespace sim {

// Not thread-safe.
class OutcomeCounts {
 public:
  // Outcomes beside the numbers of EfaStatus.
  static constexpr std::size_t kOther = 19;  // a number that EFA does not define
  static constexpr std::size_t kAgain = 20;  // a post that found its queue full
  static constexpr std::size_t kOutcomes = 21;

  void Completed(fabric::OperationKind kind, std::uint8_t status) {
    ++At(kind)[std::min<std::size_t>(status, kOther)];
  }
  void Again(fabric::OperationKind kind) { ++At(kind)[kAgain]; }

  std::uint64_t count(fabric::OperationKind kind, std::size_t outcome) const {
    return counts_[static_cast<std::size_t>(kind)][outcome];
  }

 private:
  using Row = std::array<std::uint64_t, kOutcomes>;
  Row& At(fabric::OperationKind kind) { return counts_[static_cast<std::size_t>(kind)]; }

  // The kinds that a device knows: it has no tags and no atomics.
  std::array<Row, static_cast<std::size_t>(fabric::OperationKind::kRemoteWrite) + 1> counts_{};
};

}  // namespace sim

#endif  // SIM_OUTCOME_COUNTS_H_
