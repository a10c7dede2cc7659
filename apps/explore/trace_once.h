// One run of a scenario with --trace=FILE, to see a failure.

#ifndef APPS_EXPLORE_TRACE_ONCE_H_
#define APPS_EXPLORE_TRACE_ONCE_H_

#include "absl/status/status.h"
#include "sim/explore/run_seed.h"
#include "sim/explore/scenario.h"

namespace apps {

// Whether --trace is given.
bool TraceIsAsked();

// Runs it in this process, which a scenario that crashes ends: its flight recorder's file is left
// then. Errors: those of the file.
absl::Status TraceOnce(const sim::explore::Scenario& scenario, const sim::explore::RunSpec& spec);

}  // namespace apps

#endif  // APPS_EXPLORE_TRACE_ONCE_H_
