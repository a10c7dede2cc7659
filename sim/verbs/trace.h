// --trace=FILE of efa-run: what the simulated device did, for the viewer at ui.perfetto.dev or
// chrome://tracing. One file a process.

#ifndef SIM_VERBS_TRACE_H_
#define SIM_VERBS_TRACE_H_

#include <cstdio>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "sim/event_log.h"
#include "sim/world.h"

namespace sim::verbs {

// "out.json" of process 17: "out.17.json".
std::string TraceFileOf(const std::string& file, int pid);

// Writes each event of a world as it happens: a JSON array of instant events, whose closing bracket
// the format does not need, so that a file of a killed process opens too. Not thread-safe.
class Trace final : public EventListener {
 public:
  // kUnavailable: the file cannot be made. The world outlives the trace.
  static absl::StatusOr<std::unique_ptr<Trace>> Open(const std::string& file, World& world);
  ~Trace() override;

  void OnLogged(const LoggedEvent& event) override;

 private:
  Trace(std::FILE* file, World& world);

  std::FILE* const file_;
  World& world_;
  const int pid_;
  bool first_ = true;
};

}  // namespace sim::verbs

#endif  // SIM_VERBS_TRACE_H_
