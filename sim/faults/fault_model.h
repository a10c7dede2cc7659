// A fault plan at work inside the simulated devices: asks the engine at each point of an
// operation's life (sim/device/fault_points.h), and turns what fires into a verdict.

#ifndef DRYDOCK_SIM_FAULTS_FAULT_MODEL_H_
#define DRYDOCK_SIM_FAULTS_FAULT_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "drydock/coro/time.h"
#include "drydock/fabric/faults/engine.h"
#include "drydock/fabric/limits.h"
#include "drydock/sim/device/fault_points.h"
#include "drydock/sim/device/observer.h"
#include "drydock/sim/events/world_clock.h"
#include "drydock/sim/faults/fault_views.h"
#include "drydock/sim/faults/operation_faults.h"

namespace drydock::sim {

// One per world that has an engine. Reaches into no device: it answers, and listens for operations
// that are gone. Not thread-safe. The clock outlives it.
class FaultModel final : public FaultPoints, public Observer {
 public:
  FaultModel(const WorldClock& clock, std::shared_ptr<fabric::faults::FaultEngine> engine);

  // --- FaultPoints ---
  FetchVerdict OnFetch(const QueuePair& queue_pair, Operation& operation, bool sound) override;
  DepartureVerdict OnDeparture(const NicState& from, const Operation& operation,
                               DrawPurpose purpose) override;
  void OnFlight(const NicState& from, Operation& operation, DrawPurpose purpose,
                Flight& flight) override;
  ArrivalVerdict OnArrival(const NicState& nic, const Operation& operation) override;
  ReceiveVerdict OnReceive(const NicState& nic, const Operation& operation) override;
  PlacementVerdict OnPlacement(const NicState& nic, const Operation& operation,
                               Range range) override;
  bool OnWritten(const Operation& operation) override;
  std::optional<Failure> OnEnd(const Operation& operation) override;
  CompletionVerdict OnCompletion(const Operation& operation) override;
  CompletionVerdict OnImmediate(const NicState& nic, const Operation& operation,
                                DeviceCompletion& completion) override;
  void OnOpenEndpoint(const NicState& nic, fabric::Limits& limits) override;
  std::size_t OnOpenCompletionQueue(const NicState& nic, std::size_t entries) override;
  void OnPostWithoutContext(const QueuePair& queue_pair, std::uint16_t request_id) override;
  coro::Duration OnInsertPeer(const NicState& nic, const EfaAddress& address) override;
  ForwardVerdict OnForward(const Operation& operation, Range range) override;

  // --- Observer ---
  void OnGone(const Operation& operation) override;

 private:
  using Point = fabric::faults::Point;
  using Firing = fabric::faults::Firing;
  using EventView = fabric::faults::EventView;

  bool Concerns(Point point) const {
    return engine_->Concerns(fabric::faults::Layer::kDevice, point);
  }
  bool Concerns(Point point, fabric::OperationKind kind) const {
    return engine_->Concerns(fabric::faults::Layer::kDevice, point, kind);
  }
  Firing Decide(Point point, const EventView& view) {
    return engine_->Decide(fabric::faults::Layer::kDevice, point, view);
  }
  // Whether `fault`, the only one that makes it smaller, does so.
  Firing DecideCapacity(const NicState& nic, fabric::faults::Capacity capacity,
                        fabric::faults::Fault fault);
  // The faults of a receive or an immediate.
  OperationFaults DecideAtTarget(fabric::OperationKind kind, const EventView& view);
  EventView ViewOfPacket(const NicState& from, const Operation& operation,
                         DrawPurpose purpose) const;

  OperationFaults& FaultsOf(const Operation& operation) { return faults_[operation.id.Pack()]; }
  // The same, and marks the operation.
  OperationFaults& Mark(Operation& operation) {
    operation.faulted = true;
    return FaultsOf(operation);
  }
  static FetchVerdict Serving(const OperationFaults& faults);

  const WorldClock& clock_;
  const std::shared_ptr<fabric::faults::FaultEngine> engine_;
  FaultViews views_;
  const bool names_peers_;                                  // a rule of the plan does
  std::map<std::uint64_t, OperationFaults> faults_;         // OperationId::Pack
  std::set<std::pair<std::uint32_t, std::uint32_t>> bare_;  // qkey, request id: without a context
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_FAULTS_FAULT_MODEL_H_
