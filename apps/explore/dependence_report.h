// On which unpublished figures the failures of a profile sweep depend, for a person and a script.

#ifndef DRYDOCK_APPS_EXPLORE_DEPENDENCE_REPORT_H_
#define DRYDOCK_APPS_EXPLORE_DEPENDENCE_REPORT_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/apps/explore/report.h"
#include "drydock/sim/explore/explorer.h"
#include "drydock/sim/explore/profile_sweep.h"
#include "drydock/sim/explore/scenario.h"
#include "drydock/sim/explore/verdict.h"

namespace drydock::apps {

struct FoundDependence {
  sim::explore::SeedResult result;
  sim::explore::Dependence dependence;
};

// One for each failure that the report tells in full, by rising seeds. kInternal: no process to be
// had.
absl::StatusOr<std::vector<FoundDependence>> FindDependences(
    const sim::explore::Scenario& scenario, const sim::explore::ExploreOptions& options,
    const sim::explore::ExploreReport& report);

// A table, and for each of them the command that runs it again with its smallest set. Empty: there
// are none.
std::string FormatDependences(const Asked& asked, const std::vector<FoundDependence>& found);
// The report's JSON with "dependences".
std::string WithDependences(const std::string& report, const Asked& asked,
                            const std::vector<FoundDependence>& found);

// The unpublished figures, their ranges and the reasons.
std::string FormatFigureTable();
std::string FigureTableJson();

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_EXPLORE_DEPENDENCE_REPORT_H_
