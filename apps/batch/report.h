// What batch prints: tables, JSON, comma-separated values, pictures.

#ifndef DRYDOCK_APPS_BATCH_REPORT_H_
#define DRYDOCK_APPS_BATCH_REPORT_H_

#include <string>
#include <vector>

#include "drydock/apps/batch/load.h"
#include "drydock/apps/batch/steps.h"
#include "drydock/apps/batch/watch.h"
#include "drydock/apps/common/report/output_flags.h"

namespace drydock::apps::batch {

// One run.
struct Report {
  std::string where;       // "simulated efa-direct, two p5.48xlarge in this process, seed 1"
  bool simulated = false;  // times are simulated
  Load load;
  double line_gbps = 0;  // of one NIC; 0: not told
  BatchResult result;
  bool one_line = false;  // in JSON: several processes print to one place
};

std::string Render(const Report& report, OutputForm form);
std::string ToSvg(const Report& report);

// The runs of --steps.
struct StepReport {
  std::string where;
  std::vector<Step> steps;
};

std::string Render(const StepReport& report, OutputForm form);
std::string ToSvg(const StepReport& report);

}  // namespace drydock::apps::batch

#endif  // DRYDOCK_APPS_BATCH_REPORT_H_
