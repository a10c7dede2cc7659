// One replay of a capture, on simulated NICs in virtual time.
//
//   each machine:  step 1 ─► step 2 ─► ...     its program's own order
//                    │         │
//                    │         └── of a completion that was read: waits until it is here
//                    └── of anything else: waits for its recorded time (--timing=recorded)
//
// So a step that the program took because something had arrived comes after its arrival here, too,
// however long that takes; and steps that were taken at once stay together.

#ifndef DRYDOCK_SIM_CAPTURE_REPLAY_H_
#define DRYDOCK_SIM_CAPTURE_REPLAY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/fabric.h"
#include "drydock/fabric/faults/plan.h"
#include "drydock/sim/capture/capture.h"
#include "drydock/sim/capture/machine.h"
#include "drydock/sim/driver/sim_fabric.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/world/world.h"

namespace drydock::sim::capture {

enum class Timing : std::uint8_t {
  kRecorded,  // not before the recorded time
  kFast,      // as soon as what it waited for is there
};

struct ReplayOptions {
  std::uint64_t seed = 1;
  const Profile* profile = nullptr;
  // Opens the fabric of a machine: the device as it is, or the fabric `efa` on top.
  std::function<std::unique_ptr<fabric::Fabric>(World&, sim::Node&)> open = OpenSimFabric;
  // Called with the world of each replay before anything is opened in it; its result is kept until
  // just before the world goes.
  std::function<std::shared_ptr<void>(World&)> watch = [](World&) { return nullptr; };
  Timing timing = Timing::kRecorded;
  // Of each machine, above its fabric; none: no faults.
  std::vector<fabric::faults::FaultPlan> plans;
};

// The results of a replay. Indices are those of the capture.
struct ReplayRun {
  struct NodeRun {
    std::vector<Outcome> outcomes;
    std::vector<ReadBack> read_back;
    std::vector<std::optional<std::uint32_t>> endpoint_numbers;
    std::vector<std::string> digests;  // by region; empty: it was not closed
  };
  std::vector<NodeRun> nodes;
  // Steps that were given up: a completion that never came, a post that was never taken.
  struct Missing {
    Index node = 0;
    StepKind kind = StepKind::kRead;
    Index operation = kNowhere;  // kNowhere: a peer's immediate, or no operation
  };
  std::vector<Missing> missing;
  // Rules of EFA that were broken. No races of buffers where a pattern stands for some data: it
  // differs from one operation to the next, though the program may have sent the same bytes twice.
  std::vector<std::string> findings;
  coro::Duration simulated{};
  std::string digest;  // of everything that happened
};

// REQUIRES: the capture is joined; a profile. Errors: the simulated machine lacks something that
// the capture needs; plans that make no sense.
absl::StatusOr<ReplayRun> Replay(const Capture& capture, const ReplayOptions& options);

}  // namespace drydock::sim::capture

#endif  // DRYDOCK_SIM_CAPTURE_REPLAY_H_
