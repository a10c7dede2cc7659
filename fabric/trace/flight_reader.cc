#include "drydock/fabric/trace/flight_reader.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "drydock/fabric/trace/flight_file.h"
#include "drydock/fabric/trace/flight_layout.h"
#include "nlohmann/json.hpp"

namespace drydock::fabric::trace {
namespace {

// Takes a number from the front; false: there is none.
template <typename Number>
bool Take(std::string_view& bytes, Number& number) {
  if (bytes.size() < sizeof number) return false;
  std::memcpy(&number, bytes.data(), sizeof number);
  bytes.remove_prefix(sizeof number);
  return true;
}

// The names of a flight file, to which its events may refer.
class Names {
 public:
  explicit Names(Recording& recording) : recording_(recording) {}

  // False: they are damaged.
  bool Read(std::string_view bytes) {
    while (!bytes.empty()) {
      char type = 0;
      std::uint32_t length = 0;
      if (!Take(bytes, type) || !Take(bytes, length) || length > bytes.size()) return false;
      if (!ReadOne(type, bytes.substr(0, length))) return false;
      bytes.remove_prefix(length);
    }
    return true;
  }

  // Makes the event refer only to names that exist; false: it is none of ours.
  bool Mend(Event& event) const {
    const bool known =
        event.kind <= kLastKind && event.operation <= OperationKind::kAtomic &&
        event.error <= ErrorCode::kOther && event.track <= recording_.tracks.size() &&
        (IsPart(event.kind) || event.track != kNone) && event.op_node < recording_.nodes.size() &&
        event.node < recording_.nodes.size() && Sane(event.time_ns) && Sane(event.duration_ns);
    const auto text = texts_.find(event.text);
    event.text = text == texts_.end() ? kNone : text->second;
    return known;
  }

 private:
  // Sums of them do not overflow.
  static bool Sane(std::int64_t ns) {
    return ns >= 0 && ns <= std::numeric_limits<std::int64_t>::max() / 4;
  }

  bool ReadOne(char type, std::string_view bytes) {
    switch (type) {
      case kInfoName:
        return ReadInfo(bytes);
      case kNodeName:
        recording_.nodes.emplace_back(bytes);
        return recording_.nodes.size() < UINT16_MAX;
      case kTrackName:
        return ReadTrack(bytes);
      default:
        return type == kTextName && ReadText(bytes);
    }
  }

  bool ReadInfo(std::string_view bytes) {
    TraceInfo& info = recording_.info;
    std::uint8_t simulated = 0, virtual_time = 0;
    std::uint32_t program = 0;
    const bool whole = Take(bytes, info.seed) && Take(bytes, simulated) &&
                       Take(bytes, virtual_time) && Take(bytes, program) && program <= bytes.size();
    if (!whole) return false;
    info.simulated = simulated != 0;
    info.virtual_time = virtual_time != 0;
    info.program = bytes.substr(0, program);
    info.backend = bytes.substr(program);
    return true;
  }

  bool ReadTrack(std::string_view bytes) {
    Track track;
    if (!Take(bytes, track.node) || !Take(bytes, track.kind) || !Take(bytes, track.number)) {
      return false;
    }
    track.nic = bytes;
    recording_.tracks.push_back(track);
    return track.kind <= kLastTrackKind && track.node < recording_.nodes.size();
  }

  bool ReadText(std::string_view bytes) {
    std::uint32_t id = 0;
    if (!Take(bytes, id)) return false;
    // It becomes part of a JSON file.
    if (!nlohmann::json::accept("{" + std::string(bytes) + "}")) return false;
    recording_.texts.emplace_back(bytes);
    texts_[id] = static_cast<std::uint32_t>(recording_.texts.size());
    return true;
  }

  Recording& recording_;
  std::map<std::uint32_t, std::uint32_t> texts_;  // by the writer's id: ours
};

}  // namespace

absl::StatusOr<Recording> ReadFlightFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(absl::StrCat("flight file ", path, ": cannot be opened"));
  const auto refuse = [&](const char* why) {
    return absl::InvalidArgumentError(absl::StrCat("flight file ", path, ": ", why));
  };
  const auto layout = std::make_unique<FlightLayout>();
  file.read(reinterpret_cast<char*>(layout.get()), sizeof(FlightLayout));
  const FlightHeader& header = layout->header;
  if (file.gcount() != sizeof(FlightLayout) || header.magic != kFlightMagic) {
    return refuse("is none");
  }
  const std::uint64_t name_bytes = header.name_bytes.load();
  if (header.version != kFlightVersion || header.event_bytes != sizeof(Event)) {
    return refuse("was written by another version of this program");
  }
  Recording recording;
  Names names(recording);
  if (name_bytes > kFlightNameBytes || !names.Read({layout->names.data(), name_bytes})) {
    return refuse("its names are damaged");
  }
  const std::uint64_t count = header.events.load();
  const std::uint64_t kept = std::min<std::uint64_t>(count, kFlightEvents);
  for (std::uint64_t number = count - kept; number < count; ++number) {
    Event event = layout->ring[number % kFlightSlots];
    const bool whole = event.sequence == static_cast<std::uint32_t>(number) && names.Mend(event);
    const bool orphan = IsPart(event.kind) && recording.events.empty();
    if (whole && !orphan) recording.events.push_back(event);
  }
  recording.dropped = count - recording.events.size();
  return recording;
}

}  // namespace drydock::fabric::trace
