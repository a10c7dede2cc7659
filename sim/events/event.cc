#include "drydock/sim/events/event.h"

namespace drydock::sim {

std::string_view Name(EventKind kind) {
  switch (kind) {
    case EventKind::kTransmit:
      return "transmit";
    case EventKind::kArrive:
      return "arrive";
    case EventKind::kReadData:
      return "read-data";
    case EventKind::kPlaceRest:
      return "place-rest";
    case EventKind::kAnswer:
      return "answer";
    case EventKind::kTimeOut:
      return "time-out";
    case EventKind::kLand:
      return "land";
    case EventKind::kRnrRetry:
      return "receiver-not-ready-retry";
    case EventKind::kAlarm:
      return "alarm";
    case EventKind::kSilence:
      return "silence";
    case EventKind::kDeferred:
      return "deferred";
    case EventKind::kVisible:
      return "visible";
    case EventKind::kDoorbell:
      return "doorbell";
    case EventKind::kNicDies:
      return "nic-dies";
    case EventKind::kNicResets:
      return "nic-resets";
    case EventKind::kFetch:
      return "fetch";
    case EventKind::kSend:
      return "send";
    case EventKind::kPlace:
      return "place";
    case EventKind::kComplete:
      return "complete";
    case EventKind::kRead:
      return "read";
  }
  return "unknown";
}

}  // namespace drydock::sim
