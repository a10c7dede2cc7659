// The automatic matrix: operation kind x outcome x NIC, as the devices of a world have counted it.

#ifndef DRYDOCK_SIM_COVERAGE_MATRIX_H_
#define DRYDOCK_SIM_COVERAGE_MATRIX_H_

#include <string>
#include <vector>

#include "drydock/fabric/coverage/report.h"
#include "drydock/sim/coverage/outcome_counts.h"
#include "drydock/sim/world/world.h"

namespace drydock::sim::coverage {

// Enters the cells of every NIC of the world, as they were counted.
void AddMatrix(const World& world, const OutcomeCounts& counts, fabric::coverage::Report& report);

// The words for operations and outcomes, in the order of their numbers. Outcomes are "ok", the
// failures of EFA (sim/efa_status.h), "other" for numbers that EFA does not define, and "again" for
// a post that found its queue full.
const std::vector<std::string>& OperationNames();
const std::vector<std::string>& OutcomeNames();

// Whether a device can ever end this kind of operation this way. REQUIRES: words of the lists
// above.
bool IsPossible(const std::string& operation, const std::string& outcome);

}  // namespace drydock::sim::coverage

#endif  // DRYDOCK_SIM_COVERAGE_MATRIX_H_
