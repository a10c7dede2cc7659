#include "drydock/fabric/trace/event.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace drydock::fabric::trace {

std::string_view Name(Kind kind) {
  static constexpr std::string_view kNames[] = {"post",       "doorbell", "packet",  "place",
                                                "completion", "poll",     "resume",  "fault",
                                                "check",      "object",   "segment", "polled"};
  return kind <= kLastKind ? kNames[static_cast<std::size_t>(kind)] : "unknown";
}

std::size_t Recording::count() const {
  return static_cast<std::size_t>(std::count_if(
      events.begin(), events.end(), [](const Event& event) { return !IsPart(event.kind); }));
}

std::string Name(const Track& track) {
  switch (track.kind) {
    case TrackKind::kProgram:
      return "program";
    case TrackKind::kMarks:
      return "faults and checks";
    case TrackKind::kNic:
      return track.nic;
    case TrackKind::kSendQueue:
      return absl::StrCat(track.nic, " endpoint ", track.number, " send queue");
    case TrackKind::kReceiveQueue:
      return absl::StrCat(track.nic, " endpoint ", track.number, " receive queue");
    case TrackKind::kWire:
      return absl::StrCat(track.nic, " wire");
    case TrackKind::kMemory:
      return absl::StrCat(track.nic, " memory");
    case TrackKind::kCompletionQueue:
      return absl::StrCat(track.nic, " completion queue ", track.number);
    case TrackKind::kDeviceQueue:
      return absl::StrCat(track.nic, " device completion queue ", track.number);
  }
  return "unknown";
}

}  // namespace drydock::fabric::trace
