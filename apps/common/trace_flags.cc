#include "drydock/apps/common/trace_flags.h"

#include <cstddef>
#include <iostream>
#include <ostream>
#include <utility>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "drydock/apps/common/command_line.h"
#include "drydock/apps/common/output_file.h"
#include "drydock/apps/common/trace_page.h"
#include "drydock/apps/common/units.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/trace/traced_fabric.h"

ABSL_FLAG(std::string, trace, "",
          "Write what happened to this file: posts, packets, placements, completions, resumes, "
          "faults and checks, with arrows along each operation. FILE.html: a page that draws it. "
          "Otherwise JSON, for ui.perfetto.dev. Where a launcher (srun, mpirun) starts several "
          "processes, each writes a file of its own: FILE.rank0.html, FILE.rank1.html, ...");

ABSL_FLAG(std::string, trace_data, "",
          "With --trace: payload bytes that go into the file at most (64MiB), so that `replay` can "
          "do the run again; 0: none. Without it: 16MiB; none in a page, and none of a run in "
          "virtual time, which its seed repeats.");

namespace drydock::apps {
namespace {

using fabric::capture::Payload;
using fabric::trace::Recorder;
using fabric::trace::Recording;

// Some 200 MB of memory, and a file that viewers still open.
constexpr std::size_t kMostEvents = std::size_t{1} << 21;

constexpr absl::string_view kUsualData = "16MiB";

// Null: the trace takes no bytes along.
absl::StatusOr<std::unique_ptr<Payload>> PayloadFromFlags(bool wanted) {
  const std::string flag = absl::GetFlag(FLAGS_trace_data);
  if (flag == "0" || (flag.empty() && !wanted)) return nullptr;
  const absl::StatusOr<std::uint64_t> most = ParseBytes(flag.empty() ? kUsualData : flag);
  if (!most.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--trace-data=", flag, " is no size"));
  }
  return std::make_unique<Payload>(*most);
}

}  // namespace

TraceRun::TraceRun(std::string path, std::unique_ptr<Recorder> recorder,
                   std::unique_ptr<Payload> payload)
    : path_(std::move(path)), recorder_(std::move(recorder)), payload_(std::move(payload)) {}

absl::StatusOr<std::unique_ptr<TraceRun>> TraceRun::FromFlags(absl::string_view program,
                                                              bool simulated, std::uint64_t seed) {
  const std::string path = PathOfThisRank(absl::GetFlag(FLAGS_trace));
  if (path.empty() && !absl::GetFlag(FLAGS_trace_data).empty()) {
    return absl::InvalidArgumentError("--trace-data says how much goes into a trace: add --trace");
  }
  std::unique_ptr<Payload> payload;
  if (!path.empty()) {
    RETURN_IF_ERROR(CheckOutputFlag("trace", path));
    ASSIGN_OR_RETURN(payload, PayloadFromFlags(!simulated && !IsTracePage(path)));
  }
  std::unique_ptr<Recorder> recorder;
  if (simulated || !path.empty()) {
    fabric::trace::RecorderOptions options;
    options.info.program = std::string(program);
    options.info.simulated = simulated;
    options.info.seed = seed;
    options.capacity = path.empty() ? 0 : kMostEvents;
    recorder = std::make_unique<Recorder>(options);
  }
  return std::unique_ptr<TraceRun>(new TraceRun(path, std::move(recorder), std::move(payload)));
}

std::unique_ptr<fabric::Fabric> TraceRun::Wrap(std::unique_ptr<fabric::Fabric> fabric,
                                               absl::string_view node) const {
  if (recorder_ == nullptr) return fabric;
  const std::string backend(fabric->description());
  recorder_->Describe(backend, false, false);
  return fabric::trace::OpenTracedFabric(
      std::move(fabric),
      {.recorder = recorder_.get(), .node = std::string(node), .payload = payload_.get()});
}

std::unique_ptr<fabric::Fabric> TraceRun::Wrap(std::unique_ptr<fabric::Fabric> fabric,
                                               absl::string_view node, const sim::World& world,
                                               SimulatedFabric kind) const {
  if (recorder_ == nullptr) return fabric;
  const std::string backend(fabric->description());
  recorder_->Describe(backend, true, world.IsVirtual());
  return fabric::trace::OpenTracedFabric(std::move(fabric),
                                         {.recorder = recorder_.get(),
                                          .node = std::string(node),
                                          .device_completes = kind == SimulatedFabric::kEfaDirect,
                                          .payload = payload_.get()});
}

std::unique_ptr<sim::WorldTrace> TraceRun::Watch(sim::World& world,
                                                 fabric::faults::FaultEngine* engine) const {
  if (recorder_ == nullptr) return nullptr;
  return std::make_unique<sim::WorldTrace>(world, *recorder_, engine);
}

absl::Status TraceRun::Finish(const absl::Status& ran) {
  if (path_.empty()) return absl::OkStatus();
  const bool refused = ExitCodeOf(ran) == kExitBadInput && !recorder_->has_operations();
  if (refused) return absl::OkStatus();
  Recording recording = recorder_->Take();
  if (payload_ != nullptr) recording.info.more = payload_->Summary();
  RETURN_IF_ERROR(WriteOutput("trace", path_,
                              [&](std::ostream& out) { WriteTraceOrPage(recording, path_, out); }));
  std::cerr << "trace: " << FormatCount(recording.count(), "event") << " in " << path_
            << (IsTracePage(path_) ? ": open it with a browser"
                                   : ": open it at https://ui.perfetto.dev");
  if (recording.dropped > 0) std::cerr << " (" << recording.dropped << " more found no room)";
  std::cerr << "\n";
  if (payload_ != nullptr && !payload_->complete()) {
    std::cerr << "trace: it holds " << FormatBytes(payload_->taken())
              << " of the payload; a replay fills up what is beyond --trace-data, and memory of "
                 "devices\n";
  }
  return absl::OkStatus();
}

}  // namespace drydock::apps
