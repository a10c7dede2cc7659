// The program's side of a RunRecord: applies the record's restrictions in its worlds, and records
// the run.

#ifndef DRYDOCK_SIM_VERBS_RUN_RECORDER_H_
#define DRYDOCK_SIM_VERBS_RUN_RECORDER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/faults/engine.h"
#include "drydock/sim/events/event_log.h"
#include "drydock/sim/verbs/run_record.h"
#include "drydock/sim/world/run_trace.h"
#include "drydock/sim/world/world.h"

namespace drydock::sim::verbs {

// Not thread-safe: of a process of one thread, which it outlives. A forked child's use of its copy
// is not recorded. A process has one.
class RunRecorder {
 public:
  // Begins anew: the record of the program that this process was before (exec) is gone.
  // kUnavailable: the file is not there, or is none of a RunRecordFile.
  static absl::StatusOr<std::unique_ptr<RunRecorder>> Open(const std::string& path);

  // A world begins, at this time of the program's; `faults`: null where there is no plan.
  void Begin(World& world, fabric::faults::FaultEngine* faults, coro::Duration began);
  // It is over.
  void Leave();
  // The program waits for ever.
  void Hangs(absl::string_view why);
  // The process ends by itself, and all its worlds have. `check`: the first rule that it broke,
  // where that is why it fails.
  void End(const Digest& digest, std::uint64_t events, absl::string_view check);

 private:
  explicit RunRecorder(RunRecord& record) : record_(record), tracer_(record.trace) {}
  void NoteLibraries();

  RunRecord& record_;
  Tracer tracer_;
};

}  // namespace drydock::sim::verbs

#endif  // DRYDOCK_SIM_VERBS_RUN_RECORDER_H_
