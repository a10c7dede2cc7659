// The flags about coverage: --coverage, --require-covered, --until.

#ifndef DRYDOCK_APPS_EXPLORE_COVERAGE_FLAGS_H_
#define DRYDOCK_APPS_EXPLORE_COVERAGE_FLAGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/apps/explore/coverage_tables.h"
#include "drydock/fabric/coverage/report.h"
#include "drydock/sim/coverage/requirements.h"

namespace drydock::apps {

struct CoverageChoice {
  CoverageDetail detail = CoverageDetail::kSeen;
  std::string file;  // of the requirements; empty: there are none
  std::vector<sim::coverage::Requirement> requirements;
  std::uint64_t until_block = 0;  // stop when this many seeds showed nothing new; 0: never
};

// Reads the flags and the file. kInvalidArgument, kNotFound: one line.
absl::StatusOr<CoverageChoice> ReadCoverageFlags();

// kFailedPrecondition, one line that names all that is missing: the file requires what `report`
// does not have.
absl::Status CheckCovered(const CoverageChoice& choice, const fabric::coverage::Report& report);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_EXPLORE_COVERAGE_FLAGS_H_
