// What explore does with capsules (sim/explore/capsule.h) and sweeps: files, text, exit status.

#ifndef APPS_EXPLORE_CAPSULE_COMMANDS_H_
#define APPS_EXPLORE_CAPSULE_COMMANDS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sim/explore/capsule.h"
#include "sim/explore/explorer.h"
#include "sim/explore/replay.h"
#include "sim/explore/scenario.h"
#include "sim/explore/shrink.h"
#include "sim/explore/sweep.h"

namespace apps {

// Where capsules go when no folder is named: in the folder for temporary files.
std::string DefaultCapsuleFolder();

// Path by seed.
using CapsulePaths = std::map<std::uint64_t, std::string>;

// Runs each of the report's failures once more and writes its capsule into `folder`, which is made
// where it does not exist. kInvalidArgument: cannot be written.
absl::StatusOr<CapsulePaths> WriteCapsules(const sim::explore::Scenario& scenario,
                                           const sim::explore::ExploreOptions& options,
                                           const sim::explore::ExploreReport& report,
                                           const std::string& folder);

// A capsule's run, for a person and as one JSON value on a line.
std::string FormatReplay(const sim::explore::Capsule& capsule, const sim::explore::Replay& replay);
std::string ReplayJson(const sim::explore::Capsule& capsule, const sim::explore::Replay& replay);

// `path`: of the file that was written.
std::string FormatShrink(const sim::explore::ShrinkReport& report, const std::string& path);
std::string ShrinkJson(const sim::explore::ShrinkReport& report, const std::string& path);

// The matrix of faults, and a paragraph for each row that failed.
std::string FormatSweep(const std::vector<sim::explore::SweepRow>& rows);
std::string SweepJson(const std::vector<sim::explore::SweepRow>& rows);

}  // namespace apps

#endif  // APPS_EXPLORE_CAPSULE_COMMANDS_H_
