// Reads the flight file that a process has left behind, as a recording.

#ifndef DRYDOCK_FABRIC_TRACE_FLIGHT_READER_H_
#define DRYDOCK_FABRIC_TRACE_FLIGHT_READER_H_

#include <string>

#include "absl/status/statusor.h"
#include "drydock/fabric/trace/event.h"

namespace drydock::fabric::trace {

// The last events, oldest first; those before them are counted as dropped. Also of a process that
// still runs. kNotFound, kInvalidArgument: no such file, or no flight file of this version; it is
// not trusted.
absl::StatusOr<Recording> ReadFlightFile(const std::string& path);

}  // namespace drydock::fabric::trace

#endif  // DRYDOCK_FABRIC_TRACE_FLIGHT_READER_H_
