#include "drydock/sim/events/scheduler.h"

namespace drydock::sim {
namespace {

bool Overlap(const Touch& a, const Touch& b) {
  return a.machine == b.machine && (a.writes || b.writes) && a.begin < b.end && b.begin < a.end;
}

}  // namespace

bool AreIndependent(const Step& a, const Step& b) {
  if (a.operation == b.operation) return false;
  for (const Touch& one : a.touches) {
    for (const Touch& other : b.touches) {
      if (Overlap(one, other)) return false;
    }
  }
  return true;
}

}  // namespace drydock::sim
