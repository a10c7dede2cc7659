// --metrics: shows the NICs' counters when the program is done (docs/metrics.md).

#ifndef DRYDOCK_APPS_COMMON_METRICS_FLAGS_H_
#define DRYDOCK_APPS_COMMON_METRICS_FLAGS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drydock/apps/common/metrics_run.h"

namespace drydock::apps {

// Null when --metrics is not given. kInvalidArgument: it is neither alone, nor `all`, nor a file
// that ends with .prom or .json and can be written: see CheckOutputFlag.
absl::StatusOr<std::unique_ptr<MetricsRun>> MetricsFromFlags();

// Delivers at the end of a program: a table goes to standard output, or, where that is for a script
// (`machine_readable`), to standard error. Returns the exit status for it all: `exit_code`, unless
// that was 0 and the file cannot be written. `metrics` may be null.
int DeliverMetrics(absl::string_view program, const MetricsRun* metrics, bool machine_readable,
                   int exit_code);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_METRICS_FLAGS_H_
