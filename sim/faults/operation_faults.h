// The faults that the rules of a fault plan give one operation.

#ifndef DRYDOCK_SIM_FAULTS_OPERATION_FAULTS_H_
#define DRYDOCK_SIM_FAULTS_OPERATION_FAULTS_H_

#include <cstdint>

#include "drydock/fabric/faults/engine.h"
#include "drydock/sim/device/fault_points.h"
#include "drydock/sim/efa_status.h"

namespace drydock::sim {

// A value; refers to the engine.
struct OperationFaults {
  fabric::faults::Firing outcome;
  fabric::faults::Firing timing;
  fabric::faults::Firing placement;
  std::uint32_t arrivals = 0;  // packets that came to be placed
  std::uint32_t floods = 0;    // how often the immediate is reported again

  bool any() const { return outcome || timing || placement; }

  // Whether the outcome is a failure of the operation: the only other one is that its completion is
  // lost.
  bool Fails() const;
  // REQUIRES of these: Fails().
  EfaStatus Status() const;
  Failure AsFailure() const { return {.status = Status(), .delay = outcome.Delay()}; }
  // How much of `length` bytes reach memory before it fails.
  std::uint64_t Placed(std::uint64_t length) const {
    const auto percent = static_cast<std::uint64_t>(outcome.parameters().placed_percent);
    return length / 100 * percent + length % 100 * percent / 100;
  }
  // Whether all of it happens, and only the end is another one.
  bool RunsWhole() const { return outcome.parameters().placed_percent == 100; }
  // Whether nothing of it happens.
  bool RunsNot() const { return outcome.parameters().placed_percent == 0; }

  // Whether a part of its bytes is missing in the end.
  bool IsCut() const { return Fails() && !RunsWhole(); }

  // When its completion is reported.
  CompletionVerdict Completion() const;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_FAULTS_OPERATION_FAULTS_H_
