// What the policies came to, for a person and for a script. Pure functions.

#ifndef DRYDOCK_APPS_AFFINITY_REPORT_H_
#define DRYDOCK_APPS_AFFINITY_REPORT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "drydock/apps/affinity/runs.h"

namespace drydock::apps::affinity {

struct PolicyResult {
  Policy policy = Policy::kNear;
  std::vector<SeatResult> seats;
};

struct Report {
  bool simulated = false;
  std::string fabric;            // which, in words
  std::string profile;           // simulated: its name
  double link_gbytes_per_s = 0;  // simulated: between NUMA nodes; 0: not told
  std::string note;              // remarks for the reader of the figures; may be empty
  std::size_t nics = 0;          // of the machine
  std::size_t numa_nodes = 0;
  Load load;
  std::vector<PolicyResult> policies;
};

// All NICs together.
double TotalGbps(const Report& report, const PolicyResult& result);
// The mean over the NICs, in microseconds.
double MicrosecondsPerWrite(const PolicyResult& result);

// One line with the meaning of the figures.
std::string Meaning(const Report& report);

std::string FormatText(const Report& report);
std::string FormatJson(const Report& report);
// A line for each policy and NIC.
std::string FormatCsv(const Report& report);
// The same as SVG: rates and times, a bar for each policy beside the others.
std::string ToSvg(const Report& report);

}  // namespace drydock::apps::affinity

#endif  // DRYDOCK_APPS_AFFINITY_REPORT_H_
