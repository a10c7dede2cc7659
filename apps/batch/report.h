// What batch prints: tables, JSON, comma-separated values, pictures.

#ifndef APPS_BATCH_REPORT_H_
#define APPS_BATCH_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "apps/batch/load.h"
#include "apps/batch/steps.h"
#include "apps/batch/watch.h"

namespace apps::batch {

enum class Format : std::uint8_t { kText, kJson, kCsv, kSvg };

// One run.
struct Report {
  std::string where;       // "simulated efa-direct, two p5.48xlarge in this process, seed 1"
  bool simulated = false;  // times are simulated
  Load load;
  double line_gbps = 0;  // of one NIC; 0: not told
  BatchResult result;
};

std::string ToText(const Report& report, Format format);
std::string ToText(const std::string& where, const std::vector<Step>& steps, Format format);

}  // namespace apps::batch

#endif  // APPS_BATCH_REPORT_H_
