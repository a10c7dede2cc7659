#include "drydock/sim/checks/finding.h"

#include "absl/strings/str_cat.h"

namespace drydock::sim {

std::string_view Name(Check check) {
  switch (check) {
    case Check::kCompletionQueueCapacity:
      return "completion-queue-capacity";
    case Check::kAgainWithoutReading:
      return "again-without-reading";
    case Check::kConservation:
      return "conservation";
    case Check::kBounds:
      return "bounds";
    case Check::kBufferRace:
      return "buffer-race";
    case Check::kImmediateVisibility:
      return "immediate-visibility";
    case Check::kUseAfterDeregister:
      return "use-after-deregister";
    case Check::kLeaks:
      return "leaks";
    case Check::kRetryIdempotence:
      return "retry-idempotence";
    case Check::kContextOwnership:
      return "context-ownership";
    case Check::kAwaiterLifetime:
      return "awaiter-lifetime";
    case Check::kCompletionQueueService:
      return "completion-queue-service";
    case Check::kImmediateNamespace:
      return "immediate-namespace";
    case Check::kPeerIncarnation:
      return "peer-incarnation";
    case Check::kProgress:
      return "progress";
    case Check::kOrderIndependence:
      return "order-independence";
    case Check::kLocalRights:
      return "local-rights";
    case Check::kOneThread:
      return "one-thread-at-a-time";
    case Check::kWorkNotRung:
      return "work-not-rung-for";
    case Check::kUnreadCompletions:
      return "unread-completions";
    case Check::kHandleInUse:
      return "address-handle-in-use";
    case Check::kReceiverNotReady:
      return "receiver-not-ready";
    case Check::kUnacknowledgedEvents:
      return "unacknowledged-events";
  }
  return "unknown";
}

bool IsBrokenByACall(Check check) {
  switch (check) {
    case Check::kAgainWithoutReading:
    case Check::kHandleInUse:
    case Check::kLeaks:
    case Check::kOneThread:
    case Check::kPeerIncarnation:
    case Check::kReceiverNotReady:
    case Check::kUnacknowledgedEvents:
    case Check::kUnreadCompletions:
    case Check::kWorkNotRung:
      return true;
    case Check::kAwaiterLifetime:
    case Check::kBounds:
    case Check::kBufferRace:
    case Check::kCompletionQueueCapacity:
    case Check::kCompletionQueueService:
    case Check::kConservation:
    case Check::kContextOwnership:
    case Check::kImmediateNamespace:
    case Check::kImmediateVisibility:
    case Check::kLocalRights:
    case Check::kOrderIndependence:
    case Check::kProgress:
    case Check::kRetryIdempotence:
    case Check::kUseAfterDeregister:
      return false;
  }
  return false;
}

std::string ToText(const Finding& finding) {
  return absl::StrCat(std::string(Name(finding.check)), ": ", finding.where, ": ", finding.what,
                      " (", finding.times, finding.times == 1 ? " time" : " times",
                      ", first after ", finding.first.count(), " ns)");
}

}  // namespace drydock::sim
