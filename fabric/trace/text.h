// A recording for a person without a viewer.

#ifndef FABRIC_TRACE_TEXT_H_
#define FABRIC_TRACE_TEXT_H_

#include <string>
#include <vector>

#include "fabric/trace/event.h"

namespace fabric::trace {

// A line for each event, in the order of recording:
//   "12394 ns  server: nic memory: place 98 B  {"op":2,...}".
std::vector<std::string> ToText(const Recording& recording);

}  // namespace fabric::trace

#endif  // FABRIC_TRACE_TEXT_H_
