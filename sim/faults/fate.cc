#include "sim/faults/fate.h"

#include <cstdlib>
#include <iostream>

namespace sim {

using fabric::faults::Fault;

CompletionVerdict Fate::Completion() const {
  using When = CompletionVerdict::When;
  if (outcome && outcome.fault() == Fault::kLostCompletion) return {.when = When::kNever};
  if (!timing) return {};
  switch (timing.fault()) {
    case Fault::kQueueOverrun:
      return {.when = When::kOverrun};
    case Fault::kHeldCompletion:
      return {.when = When::kAfterOthers,
              .delay = timing.Delay(),
              .others = timing.parameters().behind};
    case Fault::kDelayedCompletion:
    case Fault::kSlowPeer:
      return {.when = When::kLater, .delay = timing.Delay()};
    default:
      RefuseFault(timing.fault());
  }
}

void RefuseFault(Fault fault) {
  std::cerr << "the simulated NIC does not know what to do about '"
            << fabric::faults::Describe(fault).name << "' here\n";
  std::abort();
}

}  // namespace sim
