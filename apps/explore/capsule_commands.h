// What explore does with capsules (sim/explore/capsule.h) and sweeps: files, text, exit status.

#ifndef DRYDOCK_APPS_EXPLORE_CAPSULE_COMMANDS_H_
#define DRYDOCK_APPS_EXPLORE_CAPSULE_COMMANDS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/sim/explore/capsule.h"
#include "drydock/sim/explore/explorer.h"
#include "drydock/sim/explore/replay.h"
#include "drydock/sim/explore/run_seed.h"
#include "drydock/sim/explore/scenario.h"
#include "drydock/sim/explore/schedules.h"
#include "drydock/sim/explore/shrink.h"
#include "drydock/sim/explore/sweep.h"
#include "drydock/sim/explore/verdict.h"

namespace drydock::apps {

// Where capsules go when no folder is named: a folder of this user's among temporary files.
std::string DefaultCapsuleFolder();

// A run that failed.
struct FailedRun {
  std::uint64_t number;  // in its report: the seed, the run of an order, the row of a sweep
  std::string what;      // beside the seed, in the name of its file: "order-7"
  sim::explore::RunSpec run;
  sim::explore::SeedResult result;
};

// The first failures of a report: as many of a sweep as of seeds.
std::vector<FailedRun> FailuresOf(const sim::explore::ExploreOptions& options,
                                  const sim::explore::ExploreReport& report);
std::vector<FailedRun> FailuresOf(const sim::explore::OrdersOptions& options,
                                  const sim::explore::OrdersReport& report);
std::vector<FailedRun> FailuresOf(const sim::explore::SweepOptions& options,
                                  const std::vector<sim::explore::SweepRow>& rows);

// Path by FailedRun::number.
using CapsulePaths = std::map<std::uint64_t, std::string>;

// kInvalidArgument: it is not there and cannot be made, or it takes no file; or it is the default
// one, and others can write to it.
absl::Status MakeCapsuleFolder(const std::string& folder);

// Runs each of them once more and writes its capsule into `folder`, which is made where it does not
// exist. A capsule of another run that is there stays. kInvalidArgument: cannot be written.
// REQUIRES: this process has one thread.
absl::StatusOr<CapsulePaths> WriteCapsules(const sim::explore::Scenario& scenario,
                                           const std::vector<FailedRun>& failures,
                                           const std::string& folder);

// A capsule's run, for a person and as one JSON value on a line.
std::string FormatReplay(const sim::explore::Capsule& capsule, const sim::explore::Replay& replay);
std::string ReplayJson(const sim::explore::Capsule& capsule, const sim::explore::Replay& replay);

// `path`: of the file that was written.
std::string FormatShrink(const sim::explore::ShrinkReport& report, const std::string& path);
std::string ShrinkJson(const sim::explore::ShrinkReport& report, const std::string& path);

// The matrix of faults, and a paragraph for each row that failed. `capsules`: by the row's index.
std::string FormatSweep(const std::vector<sim::explore::SweepRow>& rows,
                        const CapsulePaths& capsules);
std::string SweepJson(const std::vector<sim::explore::SweepRow>& rows,
                      const CapsulePaths& capsules);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_EXPLORE_CAPSULE_COMMANDS_H_
