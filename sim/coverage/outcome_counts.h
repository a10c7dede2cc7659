// How the operations of each NIC of a world have ended: a count for each kind and status.

#ifndef DRYDOCK_SIM_COVERAGE_OUTCOME_COUNTS_H_
#define DRYDOCK_SIM_COVERAGE_OUTCOME_COUNTS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "drydock/fabric/operation.h"
#include "drydock/sim/device/observer.h"

namespace drydock::sim::coverage {

// Not thread-safe. Attached to the observers of a world, which it outlives, or is taken away
// before.
class OutcomeCounts final : public Observer {
 public:
  // Outcomes beside the numbers of EfaStatus.
  static constexpr std::size_t kOther = 19;  // a number that EFA does not define
  static constexpr std::size_t kAgain = 20;  // a post that found its queue full
  static constexpr std::size_t kOutcomes = 21;

  // `nic`: its index in the world.
  std::uint64_t count(std::uint32_t nic, fabric::OperationKind kind, std::size_t outcome) const {
    return nic < counts_.size() ? counts_[nic][static_cast<std::size_t>(kind)][outcome] : 0;
  }

  // --- Observer ---
  void OnReported(const NicState& nic, const CompletionRing& /*ring*/,
                  const DeviceCompletion& completion, EntryFate fate) override {
    if (fate == EntryFate::kWithheld) return;
    ++At(nic, completion.kind)[std::min<std::size_t>(completion.status, kOther)];
  }
  void OnAgain(const NicState& nic, const QueuePair& /*queue_pair*/,
               const Posted& posted) override {
    ++At(nic, posted.kind)[kAgain];
  }

 private:
  // The kinds that a device knows: it has no tags and no atomics.
  static constexpr std::size_t kKinds =
      static_cast<std::size_t>(fabric::OperationKind::kRemoteWrite) + 1;
  using Row = std::array<std::uint64_t, kOutcomes>;

  Row& At(const NicState& nic, fabric::OperationKind kind) {
    if (nic.index() >= counts_.size()) counts_.resize(nic.index() + 1u);
    return counts_[nic.index()][static_cast<std::size_t>(kind)];
  }

  std::vector<std::array<Row, kKinds>> counts_;  // index = NicState::index()
};

}  // namespace drydock::sim::coverage

#endif  // DRYDOCK_SIM_COVERAGE_OUTCOME_COUNTS_H_
