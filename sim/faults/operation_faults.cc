#include "drydock/sim/faults/operation_faults.h"

#include <cstdint>
#include <optional>

namespace drydock::sim {

using fabric::faults::Fault;

bool OperationFaults::Fails() const {
  if (!outcome) return false;
  switch (outcome.fault()) {
    case Fault::kLostCompletion:
      return false;
    case Fault::kUnsignalledError:
    case Fault::kRemoteWriteError:
      return true;
    default:
      if (!StatusOf(outcome.fault()).has_value()) RefuseFault(outcome.fault());
      return true;
  }
}

EfaStatus OperationFaults::Status() const {
  const std::optional<std::int32_t> own = StatusOf(outcome.fault());
  return static_cast<EfaStatus>(own.has_value() ? *own : outcome.parameters().status);
}

CompletionVerdict OperationFaults::Completion() const {
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

}  // namespace drydock::sim
