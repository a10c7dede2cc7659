// What the seeds have been through, for a person. Pure functions.

#ifndef DRYDOCK_APPS_EXPLORE_COVERAGE_TABLES_H_
#define DRYDOCK_APPS_EXPLORE_COVERAGE_TABLES_H_

#include <cstdint>
#include <string>

#include "drydock/fabric/coverage/report.h"

namespace drydock::apps {

enum class CoverageDetail : std::uint8_t { kNone, kSeen, kAll };

// A table of points, and one of operations and outcomes with a column for each NIC that had any;
// kAll: also the possible outcomes that no run had, as "-". Empty when there is nothing to
// tell.
std::string FormatCoverage(const fabric::coverage::Report& report, CoverageDetail detail);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_EXPLORE_COVERAGE_TABLES_H_
