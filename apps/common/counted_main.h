// main() of a program with --metrics: reads the flags, runs the program, and delivers the NICs'
// counters, however it ended.

#ifndef DRYDOCK_APPS_COMMON_COUNTED_MAIN_H_
#define DRYDOCK_APPS_COMMON_COUNTED_MAIN_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/apps/common/command_line.h"
#include "drydock/apps/common/metrics_run.h"

namespace drydock::apps {

// Returns an exit status of its own, or an error to report. `metrics` is null without --metrics.
using CountedRun = std::function<absl::StatusOr<int>(const std::vector<std::string>& positional,
                                                     MetricsRun* metrics)>;

// The program's exit status.
int CountedMain(int argc, char** argv, const Usage& usage, const CountedRun& run);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_COUNTED_MAIN_H_
