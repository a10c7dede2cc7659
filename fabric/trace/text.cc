#include "drydock/fabric/trace/text.h"

#include <cstddef>
#include <cstdint>

#include "absl/strings/str_format.h"
#include "drydock/fabric/trace/event_arguments.h"

namespace drydock::fabric::trace {

std::vector<std::string> ToText(const Recording& recording) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < recording.events.size(); ++i) {
    const Event& event = recording.events[i];
    if (IsPart(event.kind)) continue;
    const Track& track = recording.tracks[event.track - 1];
    lines.push_back(absl::StrFormat("%12d ns  %s: %s: %s  {%s}", std::int64_t{event.time_ns},
                                    recording.nodes[track.node], Name(track),
                                    SliceName(recording, event), Arguments(recording, i).str()));
  }
  return lines;
}

}  // namespace drydock::fabric::trace
