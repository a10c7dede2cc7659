// --trace of programs whose devices drive a pair of simulated NICs.

#ifndef APPS_COMMON_OBSERVED_PAIR_H_
#define APPS_COMMON_OBSERVED_PAIR_H_

#include <memory>
#include <string>
#include <utility>

#include "apps/common/simulated_fabric.h"
#include "apps/common/trace_flags.h"
#include "fabric/fabric.h"
#include "gpu/gda/sim_pair.h"

namespace apps {

// Does nothing without a recorder. `trace` outlives the pair, of which nothing was opened yet.
inline void Observe(const TraceRun& trace, gpu::gda::SimPair& pair) {
  if (trace.recorder() == nullptr) return;
  pair.Observe(
      [&trace, &pair](std::unique_ptr<fabric::Fabric> fabric, const std::string& machine) {
        return trace.Wrap(std::move(fabric), machine, pair.world(), SimulatedFabric::kEfaDirect);
      },
      trace.Watch(pair.world(), nullptr));
}

}  // namespace apps

#endif  // APPS_COMMON_OBSERVED_PAIR_H_
