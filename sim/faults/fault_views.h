// The view that the selectors of a fault plan have of an event in a device: NIC, operation, size
// and peer.

#ifndef DRYDOCK_SIM_FAULTS_FAULT_VIEWS_H_
#define DRYDOCK_SIM_FAULTS_FAULT_VIEWS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>

#include "drydock/fabric/faults/event.h"
#include "drydock/sim/device/nic_state.h"
#include "drydock/sim/device/operation.h"
#include "drydock/sim/efa_address.h"
#include "drydock/sim/events/world_clock.h"

namespace drydock::sim {

// Not thread-safe. The clock outlives it. A view refers to the NIC.
class FaultViews {
 public:
  // `by_time`: a rule of the plan asks for the time.
  FaultViews(const WorldClock& clock, bool by_time) : clock_(clock), by_time_(by_time) {}

  // A driver of the NIC has put an address into an address vector: plans number the peers of a NIC
  // in the order of their first insertion.
  void Inserted(const NicState& nic, const EfaAddress& address);
  // A request to a peer; where drivers have no address vectors, its first one is what numbers it.
  void Requested(const Operation& operation);

  fabric::faults::EventView Of(const NicState& nic) const;
  // The operation, as its initiator sees it; as its target, `nic`, does.
  fabric::faults::EventView AtInitiator(const Operation& operation) const;
  fabric::faults::EventView AtTarget(const NicState& nic, const Operation& operation) const;

 private:
  // Index of the NIC, and an address.
  using Key = std::tuple<std::uint32_t, Gid, std::uint16_t, std::uint32_t>;

  std::optional<std::uint32_t> NumberOf(const NicState& nic, const NicState* peer,
                                        std::uint16_t queue_pair, std::uint32_t qkey) const;

  const WorldClock& clock_;
  const bool by_time_;
  std::map<Key, std::uint32_t> peers_;               // their numbers
  std::map<std::uint32_t, std::uint32_t> inserted_;  // by NIC: how many peers
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_FAULTS_FAULT_VIEWS_H_
