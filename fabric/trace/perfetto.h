// A recording as a file for ui.perfetto.dev: docs/trace-format.md.

#ifndef FABRIC_TRACE_PERFETTO_H_
#define FABRIC_TRACE_PERFETTO_H_

#include <ostream>

#include "fabric/trace/event.h"

namespace fabric::trace {

// Event by event: the JSON is never in memory as a whole. Whether it could all be written is for
// the stream to tell.
void WriteTrace(const Recording& recording, std::ostream& out);

}  // namespace fabric::trace

#endif  // FABRIC_TRACE_PERFETTO_H_
