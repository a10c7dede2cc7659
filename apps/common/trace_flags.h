// --trace=FILE: the trace of a run, as a page or for ui.perfetto.dev (docs/trace-format.md); and
// the flight recorder of simulated runs, which is always on.
//
//   ASSIGN_OR_RETURN(const auto trace, TraceRun::FromFlags("write", simulated, seed));
//   fabric = trace->Wrap(std::move(fabric), "client");
//   ... run ...
//   status = trace->Finish();

#ifndef DRYDOCK_APPS_COMMON_TRACE_FLAGS_H_
#define DRYDOCK_APPS_COMMON_TRACE_FLAGS_H_

#include <cstdint>
#include <fstream>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drydock/apps/common/simulated_fabric.h"
#include "drydock/fabric/capture/payload.h"
#include "drydock/fabric/fabric.h"
#include "drydock/fabric/faults/engine.h"
#include "drydock/fabric/trace/recorder.h"
#include "drydock/sim/tracing/world_trace.h"
#include "drydock/sim/world/world.h"

namespace drydock::apps {

// The observation of one run. Outlives every fabric that it has wrapped. Threads: several may use
// the wrapped fabrics; the rest is for one.
class TraceRun {
 public:
  // Without --trace it observes simulated runs only, for the flight recorder. kInvalidArgument: the
  // file cannot be written, or --trace-data is no size.
  static absl::StatusOr<std::unique_ptr<TraceRun>> FromFlags(absl::string_view program,
                                                             bool simulated, std::uint64_t seed);
  // Whether --trace is given.
  bool asked() const { return !path_.empty(); }
  // Null: nothing is observed.
  fabric::trace::Recorder* recorder() const { return recorder_.get(); }

  // The fabric, observed, or as it is. `node`: the machine's name.
  std::unique_ptr<fabric::Fabric> Wrap(std::unique_ptr<fabric::Fabric> fabric,
                                       absl::string_view node) const;
  // The same for a machine of a world, whose devices are observed as well when Watch was called.
  std::unique_ptr<fabric::Fabric> Wrap(std::unique_ptr<fabric::Fabric> fabric,
                                       absl::string_view node, const sim::World& world,
                                       SimulatedFabric kind) const;
  // Observes a world's devices, as long as the result lives; null where nothing is observed.
  // `engine` may be null.
  std::unique_ptr<sim::WorldTrace> Watch(sim::World& world,
                                         fabric::faults::FaultEngine* engine) const;

  // Writes the file, and says so on standard error. Call it when everything is closed. `ran`: how
  // the run ended: one that was refused before it posted anything leaves the file as it was.
  absl::Status Finish(const absl::Status& ran = absl::OkStatus());

 private:
  TraceRun(std::string path, std::unique_ptr<fabric::trace::Recorder> recorder,
           std::unique_ptr<fabric::capture::Payload> payload);

  const std::string path_;  // empty: no trace is wished
  const std::unique_ptr<fabric::trace::Recorder> recorder_;
  const std::unique_ptr<fabric::capture::Payload> payload_;  // null: no bytes are taken along
};

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_TRACE_FLAGS_H_
