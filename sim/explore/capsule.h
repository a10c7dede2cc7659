// A run in one small file: everything that is needed to repeat it, on another machine and after the
// program has changed, and its result.
//
// It says all of it: the whole fault plan, so that no seed has to draw it again, and which rules
// fired on which event, so that firings can be taken away. The file: capsule_json.h.

#ifndef DRYDOCK_SIM_EXPLORE_CAPSULE_H_
#define DRYDOCK_SIM_EXPLORE_CAPSULE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "drydock/sim/explore/run_seed.h"
#include "drydock/sim/explore/scenario.h"
#include "drydock/sim/explore/subject.h"
#include "drydock/sim/explore/traced_run.h"
#include "drydock/sim/explore/verdict.h"
#include "drydock/sim/world/run_trace.h"

namespace drydock::sim::explore {

// Which program it was: changes of either may change a digest only where something is wrong.
struct Build {
  std::string compiler;
  std::string mode;

  // Of this program.
  static Build This();
  friend bool operator==(const Build&, const Build&) = default;
};

struct Capsule {
  static constexpr std::uint64_t kVersion = 1;
  static constexpr std::size_t kMostBytes = 1 << 20;      // of a file
  static constexpr std::size_t kMostStrategy = 64 << 10;  // an order may have many choices

  std::string scenario;            // empty: it is of a program
  std::optional<Program> program;  // of `efa-run --virtual`
  std::string profile;
  RunSpec run;
  Build build;
  SeedResult result;        // without its rules
  std::vector<Mark> marks;  // of the run, by rising events
  std::vector<std::string> last_events;
};

// The capsule of a run of `spec`. Its firings are listed when all of them fit into a file;
// otherwise the plan's rules decide again, because a part of the firings would be another run.
Capsule MakeCapsule(const Subject& subject, const RunSpec& spec, const TracedRun& run);
Capsule MakeCapsule(const Scenario& scenario, const RunSpec& spec, const TracedRun& run);

// Whether this program can run it as the scenario of that name. kInvalidArgument, kUnimplemented:
// one line.
absl::Status CheckCapsule(const Capsule& capsule, const Scenario& scenario);
// kInvalidArgument: it is none of a program, or has keys that only a scenario has.
absl::Status CheckProgramCapsule(const Capsule& capsule);

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_CAPSULE_H_
