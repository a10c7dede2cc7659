// Reads trace files (docs/trace-format.md) as captures. A file may come from anywhere: any mistake
// in it gives an error of one line.

#ifndef DRYDOCK_SIM_CAPTURE_READ_CAPTURE_H_
#define DRYDOCK_SIM_CAPTURE_READ_CAPTURE_H_

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drydock/sim/capture/capture.h"

namespace drydock::sim::capture {

struct TraceFile {
  std::string name;  // for messages
  std::string text;
};

// The limits of a capture.
inline constexpr std::uint64_t kMostFileBytes = 1 << 30;
inline constexpr std::uint64_t kMostMemory = std::uint64_t{4} << 30;  // bytes of all regions
inline constexpr std::size_t kMostNodes = 64;
inline constexpr std::size_t kMostObjects = 65536;  // of one machine, all kinds
inline constexpr std::size_t kMostOperations = 1 << 20;
inline constexpr std::size_t kMostSegments = 64;

// The file's text. kNotFound, kInvalidArgument: it cannot be read, or is too long.
absl::StatusOr<TraceFile> LoadTraceFile(const std::string& path);

// Reads the files of one run, each of one process, or one of all of them. Machines are not yet
// matched: see Join. kInvalidArgument: the line names the file, the event and the argument.
absl::StatusOr<Capture> ReadCapture(std::span<const TraceFile> files);

}  // namespace drydock::sim::capture

#endif  // DRYDOCK_SIM_CAPTURE_READ_CAPTURE_H_
