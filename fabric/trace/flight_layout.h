// A flight file, byte for byte: for its writer and its reader, which are of one version.

#ifndef DRYDOCK_FABRIC_TRACE_FLIGHT_LAYOUT_H_
#define DRYDOCK_FABRIC_TRACE_FLIGHT_LAYOUT_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "drydock/fabric/trace/event.h"
#include "drydock/fabric/trace/flight_file.h"

namespace drydock::fabric::trace {

inline constexpr std::array<char, 8> kFlightMagic = {'D', 'D', 'F', 'L', 'I', 'G', 'H', 'T'};
inline constexpr std::uint32_t kFlightVersion = 1;
inline constexpr std::size_t kFlightNameBytes = 256 << 10;
// One more than is read: the oldest may be in the middle of being replaced.
inline constexpr std::size_t kFlightSlots = kFlightEvents + 1;

// The kind of a name: the byte before its length (32 bits) and its own bytes. Numbers in those are
// as in memory.
inline constexpr char kInfoName = 'i';   // seed, simulated, virtual_time, bytes of program; both
inline constexpr char kNodeName = 'n';   // the next machine
inline constexpr char kTrackName = 't';  // the next track: node, kind, number; NIC
inline constexpr char kTextName = 'x';   // its id; text

struct FlightHeader {
  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t event_bytes;
  std::atomic<std::uint64_t> events;  // that were appended, ever
  std::atomic<std::uint64_t> name_bytes;
};

struct FlightLayout {
  FlightHeader header;
  std::array<char, kFlightNameBytes> names;
  std::array<Event, kFlightSlots> ring;
};

}  // namespace drydock::fabric::trace

#endif  // DRYDOCK_FABRIC_TRACE_FLIGHT_LAYOUT_H_
