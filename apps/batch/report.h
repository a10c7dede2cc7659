// What batch prints: tables, JSON, comma-separated values, pictures.

#ifndef DRYDOCK_APPS_BATCH_REPORT_H_
#define DRYDOCK_APPS_BATCH_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "drydock/apps/batch/load.h"
#include "drydock/apps/batch/steps.h"
#include "drydock/apps/batch/watch.h"

namespace drydock::apps::batch {

enum class Format : std::uint8_t { kText, kJson, kCsv, kSvg };

// One run.
struct Report {
  std::string where;       // "simulated efa-direct, two p5.48xlarge in this process, seed 1"
  bool simulated = false;  // times are simulated
  Load load;
  double line_gbps = 0;  // of one NIC; 0: not told
  BatchResult result;
};

std::string Render(const Report& report, Format format);
std::string Render(const std::string& where, const std::vector<Step>& steps, Format format);

}  // namespace drydock::apps::batch

#endif  // DRYDOCK_APPS_BATCH_REPORT_H_
