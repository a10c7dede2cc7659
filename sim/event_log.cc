#include "sim/event_log.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sim {

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
    case EventKind::kFault:
      return "fault";
    case EventKind::kVisible:
      return "visible";
    case EventKind::kDoorbell:
      return "doorbell";
  }
  return "unknown";
}

std::string ToText(const LoggedEvent& event) {
  std::string text =
      absl::StrCat("after ", event.time.count(), " ns: ", std::string(Name(event.kind)));
  absl::StrAppend(&text, event.actor == kNoActor ? "" : absl::StrCat(": nic ", event.actor),
                  ", operation ", event.operation, ", packet ", event.packet, ", ", event.bytes,
                  " bytes, branch ", event.branch);
  return text;
}

std::string Digest::ToHex() const { return absl::StrFormat("%016x%016x", high, low); }

}  // namespace sim
