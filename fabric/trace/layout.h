// Where each event of a recording is drawn, and which arrows lead through it.

#ifndef DRYDOCK_FABRIC_TRACE_LAYOUT_H_
#define DRYDOCK_FABRIC_TRACE_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "drydock/fabric/trace/event.h"

namespace drydock::fabric::trace {

// Nanoseconds that something without a duration is drawn wide, where there is room.
inline constexpr std::int64_t kNominalNs = 100;

// One slice.
struct Slice {
  std::size_t event = 0;  // index in Recording::events
  std::int64_t ts_ns = 0;
  std::int64_t duration_ns = 1;
};

// An arrow passes here.
struct FlowStep {
  std::size_t slice = 0;  // index in Layout::slices
  std::uint16_t node = 0;
  std::uint64_t op = 0;
  char phase = 't';  // as in the file: s, t, f
};

struct Layout {
  std::vector<Slice> slices;    // by time; of one track none overlap, and times increase strictly
  std::vector<FlowStep> steps;  // by slice; each operation's begin with s and end with f
};

// An operation's slices follow each other in time, too, as they were recorded.
Layout LayOut(const Recording& recording);

// The events that belong to the one at `index`: how many follow it.
std::size_t PartsOf(const Recording& recording, std::size_t index);

}  // namespace drydock::fabric::trace

#endif  // DRYDOCK_FABRIC_TRACE_LAYOUT_H_
