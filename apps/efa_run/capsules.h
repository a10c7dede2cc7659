// efa-run with capsules (sim/explore/capsule.h) of programs: writing them, running them again,
// making them small.

#ifndef DRYDOCK_APPS_EFA_RUN_CAPSULES_H_
#define DRYDOCK_APPS_EFA_RUN_CAPSULES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/apps/efa_run/recorded_run.h"
#include "drydock/apps/efa_run/request.h"
#include "drydock/sim/explore/run_seed.h"
#include "drydock/sim/explore/traced_run.h"

namespace drydock::apps {

// The run that a command line asks for. kNotFound, kInvalidArgument: the file of its fault plan.
absl::StatusOr<sim::explore::RunSpec> SpecOfRequest(const Request& request);

// kInvalidArgument: it is not there, and cannot be made.
absl::Status MakeFolder(const std::string& folder);

// "my_test" of "build/my_test".
std::string BaseName(const std::string& path);

// Writes "NAME.capsule" (or "NAME-2.capsule", as WriteNewCapsule), and returns its path.
// kInvalidArgument: it cannot be written, or a word of the program's is no text.
absl::StatusOr<std::string> WriteProgramCapsule(const std::string& name, const Request& request,
                                                const RecordedRun& recorded,
                                                const sim::explore::TracedRun& run);

// --replay: runs the capsule's program again, and says whether it was the same run. Returns the
// exit status: 0 when everything is as it was, 1. Errors: the file is no capsule of a program, or
// the program cannot be run.
absl::StatusOr<int> ReplayProgram(const Request& request);

// --shrink: writes a smaller capsule, and tells its story. Returns the exit status: 0, or 1 when
// there is nothing to shrink. Errors: as above; the file cannot be written.
absl::StatusOr<int> ShrinkProgram(const Request& request);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_EFA_RUN_CAPSULES_H_
