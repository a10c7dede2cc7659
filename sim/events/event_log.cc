#include "drydock/sim/events/event_log.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace drydock::sim {

std::string ToText(const LoggedEvent& event) {
  std::string text =
      absl::StrCat("after ", event.time.count(), " ns: ", std::string(Name(event.kind)));
  absl::StrAppend(&text, event.actor == kNoActor ? "" : absl::StrCat(": nic ", event.actor),
                  ", operation ", event.operation, ", packet ", event.packet, ", ", event.bytes,
                  " bytes, branch ", event.branch);
  return text;
}

std::string Digest::ToHex() const { return absl::StrFormat("%016x%016x", high, low); }

}  // namespace drydock::sim
