// A recording for a person without a viewer.

#ifndef DRYDOCK_FABRIC_TRACE_TEXT_H_
#define DRYDOCK_FABRIC_TRACE_TEXT_H_

#include <string>
#include <vector>

#include "drydock/fabric/trace/event.h"

namespace drydock::fabric::trace {

// A line for each event, in the order of recording:
//   "12394 ns  server: nic memory: place 98 B  {"op":2,...}".
std::vector<std::string> ToText(const Recording& recording);

}  // namespace drydock::fabric::trace

#endif  // DRYDOCK_FABRIC_TRACE_TEXT_H_
