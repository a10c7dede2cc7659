// One run of a scenario with --trace=FILE, to see a failure.

#ifndef DRYDOCK_APPS_EXPLORE_TRACE_ONCE_H_
#define DRYDOCK_APPS_EXPLORE_TRACE_ONCE_H_

#include "absl/status/status.h"
#include "drydock/sim/explore/run_seed.h"
#include "drydock/sim/explore/scenario.h"

namespace drydock::apps {

// Whether --trace is given.
bool TraceIsAsked();

// Runs it in this process, which a scenario that crashes ends: its flight recorder's file is left
// then. Errors: those of the file.
absl::Status TraceOnce(const sim::explore::Scenario& scenario, const sim::explore::RunSpec& spec);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_EXPLORE_TRACE_ONCE_H_
