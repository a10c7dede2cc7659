#include "drydock/sim/checks/immediate_namespace.h"

namespace drydock::sim {

bool ImmediateNamespace::IsTaken(const Posted& posted, const InFlight& others) {
  if (posted.kind != fabric::OperationKind::kWrite || !posted.has_immediate) return false;
  bool taken = false;
  others.ForEach([&](std::uint16_t, const InFlight::Entry& entry) {
    const Posted& other = entry.posted;
    taken = taken || (other.kind == posted.kind && other.has_immediate &&
                      other.immediate == posted.immediate && other.peer == posted.peer &&
                      other.remote != posted.remote);
  });
  return taken;
}

}  // namespace drydock::sim
