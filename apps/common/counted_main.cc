#include "drydock/apps/common/counted_main.h"

#include <memory>

#include "drydock/apps/common/metrics_flags.h"
#include "drydock/apps/common/report/output_flags.h"

namespace drydock::apps {

int CountedMain(int argc, char** argv, const Usage& usage, const CountedRun& run) {
  const std::vector<std::string> positional = ParseCommandLineOrExit(argc, argv, usage);
  const absl::StatusOr<std::unique_ptr<MetricsRun>> metrics = MetricsFromFlags();
  if (!metrics.ok()) return ReportError(usage.name, metrics.status());
  const absl::StatusOr<int> code = run(positional, metrics->get());
  const int exit_code = code.ok() ? *code : ReportError(usage.name, code.status());
  return DeliverMetrics(usage.name, metrics->get(), OutputIsForScripts(), exit_code);
}

}  // namespace drydock::apps
