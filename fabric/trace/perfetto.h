// A recording as a file for ui.perfetto.dev: docs/trace-format.md.

#ifndef DRYDOCK_FABRIC_TRACE_PERFETTO_H_
#define DRYDOCK_FABRIC_TRACE_PERFETTO_H_

#include <ostream>

#include "drydock/fabric/trace/event.h"

namespace drydock::fabric::trace {

// Event by event: the JSON is never in memory as a whole. Whether it could all be written is for
// the stream to tell.
void WriteTrace(const Recording& recording, std::ostream& out);

}  // namespace drydock::fabric::trace

#endif  // DRYDOCK_FABRIC_TRACE_PERFETTO_H_
