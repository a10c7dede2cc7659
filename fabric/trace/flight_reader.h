// What a process has left behind: the recording in its flight file.

#ifndef FABRIC_TRACE_FLIGHT_READER_H_
#define FABRIC_TRACE_FLIGHT_READER_H_

#include <string>

#include "absl/status/statusor.h"
#include "fabric/trace/event.h"

namespace fabric::trace {

// The last events, oldest first; those before them are counted as dropped. Also of a process that
// still runs. kNotFound, kInvalidArgument: no such file, or no flight file of this version; it is
// not trusted.
absl::StatusOr<Recording> ReadFlightFile(const std::string& path);

}  // namespace fabric::trace

#endif  // FABRIC_TRACE_FLIGHT_READER_H_
