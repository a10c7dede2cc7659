// The flight recorder's memory: a mapped file, which keeps the last events however the process
// dies.
//
//   header │ names: nodes, tracks, texts, appended │ ring of events
//
// A normal end removes the file. After std::abort() or a fault of memory a line on standard error
// says where it is; after SIGKILL it is where temporary files are, as drydock-flight-PID-*.

#ifndef DRYDOCK_FABRIC_TRACE_FLIGHT_FILE_H_
#define DRYDOCK_FABRIC_TRACE_FLIGHT_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "drydock/fabric/trace/event.h"

namespace drydock::fabric::trace {

// Events that a flight file keeps.
inline constexpr std::size_t kFlightEvents = 4096;

struct FlightLayout;

// One thread at a time. It is about 650 KiB long.
class FlightFile {
 public:
  // In the folder of temporary files ($TMPDIR, or /tmp). kUnavailable: it cannot be made.
  static absl::StatusOr<std::unique_ptr<FlightFile>> Create();
  // Removes the file, in the process that made it.
  ~FlightFile();
  FlightFile(const FlightFile&) = delete;
  FlightFile& operator=(const FlightFile&) = delete;

  const std::string& path() const { return path_; }

  // Names are lost when there is no room for them any more; events never.
  void Add(const TraceInfo& info);
  void AddNode(std::string_view name);
  void AddTrack(const Track& track);
  void AddText(std::uint32_t id, std::string_view text);
  void Append(const Event& event);

 private:
  FlightFile(std::string path, FlightLayout* layout);
  void AddName(char type, std::string_view bytes);

  const std::string path_;
  FlightLayout* const layout_;  // the mapping
  const int pid_;
};

}  // namespace drydock::fabric::trace

#endif  // DRYDOCK_FABRIC_TRACE_FLIGHT_FILE_H_
