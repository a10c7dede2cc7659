#include "drydock/sim/device/flight.h"

#include <algorithm>

namespace drydock::sim {
namespace {

// Applies the verdict to the machine, when the device is done with its present event.
void Apply(Surroundings& around, NicState& nic, const DepartureVerdict& verdict) {
  switch (verdict.machine) {
    case DepartureVerdict::Machine::kWorks:
      return;
    case DepartureVerdict::Machine::kNicDies:
      return around.timeline.After({}, nic.actor, EventKind::kNicDies, 0, 0);
    case DepartureVerdict::Machine::kNicResets:
      return around.timeline.After({}, nic.actor, EventKind::kNicResets, 0, 0);
    case DepartureVerdict::Machine::kPauses: {
      coro::Time& until = around.paused_until[nic.machine()];
      until = std::max(until, coro::After(around.timeline.TimeNow(), verdict.delay));
      return;
    }
  }
}

DepartureVerdict Depart(Surroundings& around, NicState& from, const Operation& operation,
                        DrawPurpose purpose) {
  const DepartureVerdict verdict = around.faults->OnDeparture(from, operation, purpose);
  Apply(around, from, verdict);
  return verdict;
}

}  // namespace

Flight FlyAsPlanned(Surroundings& around, NicState& from, const NicState& to, Operation& operation,
                    DrawPurpose purpose, std::uint32_t packet) {
  const DepartureVerdict departure = Depart(around, from, operation, purpose);
  if (!departure.leaves) return {};
  Flight flight =
      around.wire.Send(from.port, to.port, operation.draws, purpose, packet, operation.undisturbed);
  if (!flight.arrives) return flight;
  around.faults->OnFlight(from, operation, purpose, flight);
  flight.delay += departure.delay;
  flight.retransmissions += departure.retransmissions;
  return flight;
}

DepartureVerdict NoticeLeaves(Surroundings& around, NicState& from, const NicState& to,
                              const Operation& operation, DrawPurpose purpose) {
  if (!around.wire.Passes(from.port, to.port)) return {.leaves = false};
  if (around.faults == nullptr || from.elsewhere) return {};  // its own process knows its faults
  return Depart(around, from, operation, purpose);
}

}  // namespace drydock::sim
