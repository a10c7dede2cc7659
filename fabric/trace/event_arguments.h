// The name and the arguments of an event, as a trace file has them.

#ifndef DRYDOCK_FABRIC_TRACE_EVENT_ARGUMENTS_H_
#define DRYDOCK_FABRIC_TRACE_EVENT_ARGUMENTS_H_

#include <cstddef>
#include <string>

#include "drydock/fabric/trace/event.h"
#include "drydock/fabric/trace/json_text.h"

namespace drydock::fabric::trace {

// "write 4096 B", as a JSON string.
std::string SliceName(const Recording& recording, const Event& event);

// Of the event at `index`, which is no part, and of its parts.
JsonMembers Arguments(const Recording& recording, std::size_t index);

}  // namespace drydock::fabric::trace

#endif  // DRYDOCK_FABRIC_TRACE_EVENT_ARGUMENTS_H_
