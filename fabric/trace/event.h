// One thing that happened, as the recorder keeps it: a plain value of fixed size, so that it can be
// copied into a file that outlives the process.
//
// docs/trace-format.md has the drawing of events, and the names of their arguments.

#ifndef DRYDOCK_FABRIC_TRACE_EVENT_H_
#define DRYDOCK_FABRIC_TRACE_EVENT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "drydock/fabric/error.h"
#include "drydock/fabric/operation.h"

namespace drydock::fabric::trace {

// Part of the flight file: never renumber, only append.
enum class Kind : std::uint8_t {
  kPost,
  kDoorbell,
  kPacket,
  kPlace,
  kCompletion,
  kPoll,
  kResume,
  kFault,
  kCheck,
  kObject,
  // --- Belong to the event before them ---
  kSegment,  // of a post: the next piece of its memory
  kPolled,   // of a poll: the next completion that was read
};
inline constexpr Kind kLastKind = Kind::kPolled;

constexpr bool IsPart(Kind kind) { return kind == Kind::kSegment || kind == Kind::kPolled; }

// "post". Static storage.
std::string_view Name(Kind kind);

// Bits of Event::flags.
inline constexpr std::uint8_t kHasImmediate = 1 << 0;
inline constexpr std::uint8_t kSignalled = 1 << 1;
inline constexpr std::uint8_t kInject = 1 << 2;
inline constexpr std::uint8_t kHasPeer = 1 << 3;
inline constexpr std::uint8_t kHasRemote = 1 << 4;
// Of a packet: its fate.
inline constexpr std::uint8_t kArrives = 1 << 5;
inline constexpr std::uint8_t kRetransmitted = 1 << 6;
inline constexpr std::uint8_t kTwice = 1 << 7;

// No object, no track.
inline constexpr std::uint32_t kNone = 0;

struct Event {
  std::int64_t time_ns = 0;  // since the recording began; of what lasts, its beginning
  std::int64_t duration_ns = 0;
  std::uint64_t op = 0;       // number of the operation on machine `op_node`; 0: of none
  std::uint64_t bytes = 0;    // of a doorbell or poll: how many
  std::uint64_t address = 0;  // post: remote; place and segment: where in memory
  std::uint64_t key = 0;      // post: remote
  std::uint64_t offset = 0;   // place and segment: in region `object`; tagged post: the tag
  std::uint64_t peer = 0;     // post; of a tagged receive: the bits to ignore
  std::uint32_t track = kNone;
  std::uint32_t object = kNone;  // post, doorbell: endpoint; completion, poll: queue; region
  std::uint32_t text = kNone;    // further arguments, as JSON
  std::uint32_t immediate = 0;   // of a packet: its number
  std::int32_t provider_error = 0;
  std::uint32_t sequence = 0;  // the recorder's: tells whether a flight file's entry is whole
  std::uint16_t op_node = 0;
  std::uint16_t node = 0;  // packet: where it goes
  Kind kind = Kind::kObject;
  OperationKind operation = OperationKind::kSend;
  ErrorCode error = ErrorCode::kOk;
  std::uint8_t flags = 0;
};
static_assert(std::is_trivially_copyable_v<Event> && sizeof(Event) == 96);

// In the order in which they are drawn.
enum class TrackKind : std::uint8_t {
  kProgram,
  kMarks,  // faults and checks
  kNic,    // from here on: of one NIC
  kSendQueue,
  kReceiveQueue,
  kWire,
  kMemory,
  kCompletionQueue,
  kDeviceQueue,  // a completion queue that the program does not see
};
inline constexpr TrackKind kLastTrackKind = TrackKind::kDeviceQueue;

struct Track {
  std::uint16_t node = 0;
  TrackKind kind = TrackKind::kProgram;
  std::uint32_t number = 0;  // among those of its kind on its NIC
  std::string nic;

  friend auto operator<=>(const Track&, const Track&) = default;
};

// "rdma0 endpoint 0 send queue".
std::string Name(const Track& track);

// The program, backend and kind of run of a recording.
struct TraceInfo {
  std::string program;
  std::string backend;  // fabric::Fabric::description()
  bool simulated = false;
  bool virtual_time = false;
  std::uint64_t seed = 0;  // simulated
  std::string more;        // further members of the file's otherData, as JSON
};

// Everything that was recorded. Ids of tracks and texts begin at 1: number 1 is element 0.
struct Recording {
  TraceInfo info;
  std::vector<std::string> nodes;
  std::vector<Track> tracks;
  std::vector<std::string> texts;
  std::vector<Event> events;  // in the order of recording; parts follow what they belong to
  std::uint64_t dropped = 0;  // that came when it was full

  // Events that are no parts of others.
  std::size_t count() const;
};

}  // namespace drydock::fabric::trace

#endif  // DRYDOCK_FABRIC_TRACE_EVENT_H_
