#include "drydock/apps/common/metrics_flags.h"

#include <iostream>
#include <string>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "drydock/apps/common/command_line.h"
#include "drydock/apps/common/output_file.h"
#include "drydock/coro/status_macros.h"

ABSL_FLAG(drydock::apps::OptionalText, metrics, {},
          "Alone: at the end, print what the NICs have counted, under the names of EFA's hardware "
          "counters. all: also what is 0. FILE.prom, FILE.json: write it there, for Prometheus or "
          "for a script (docs/metrics.md). Where a launcher (srun, mpirun) starts several "
          "processes, each writes a file of its own: FILE.rank0.prom, FILE.rank1.prom, ...");

namespace drydock::apps {

absl::StatusOr<std::unique_ptr<MetricsRun>> MetricsFromFlags() {
  const OptionalText asked = absl::GetFlag(FLAGS_metrics);
  if (!asked.given) return std::unique_ptr<MetricsRun>();
  if (asked.text.empty()) return std::make_unique<MetricsRun>(MetricsForm::kTable);
  if (asked.text == "all") return std::make_unique<MetricsRun>(MetricsForm::kFullTable);
  const bool prometheus = absl::EndsWith(asked.text, ".prom");
  if (!prometheus && !absl::EndsWith(asked.text, ".json")) {
    return absl::InvalidArgumentError(
        absl::StrCat("--metrics=", asked.text, " does not exist: all, FILE.prom or FILE.json"));
  }
  const std::string path = PathOfThisRank(asked.text);
  RETURN_IF_ERROR(CheckOutputFlag("metrics", path));
  return std::make_unique<MetricsRun>(prometheus ? MetricsForm::kPrometheus : MetricsForm::kJson,
                                      path);
}

int DeliverMetrics(absl::string_view program, const MetricsRun* metrics, bool machine_readable,
                   int exit_code) {
  if (exit_code == kExitBadInput) return exit_code;  // nothing ran
  if (metrics == nullptr) return EndWith(program, exit_code);
  const absl::Status status = metrics->Deliver(machine_readable ? std::cerr : std::cout);
  if (status.ok()) return EndWith(program, exit_code);
  const int failed = ReportError(program, status);
  return exit_code == kExitOk ? failed : exit_code;
}

}  // namespace drydock::apps
