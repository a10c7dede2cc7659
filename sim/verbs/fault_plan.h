// The fault plan of a process under efa-run: what of it applies there (docs/efa-run.md).

#ifndef DRYDOCK_SIM_VERBS_FAULT_PLAN_H_
#define DRYDOCK_SIM_VERBS_FAULT_PLAN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/fabric/faults/engine.h"
#include "drydock/fabric/faults/plan.h"

namespace drydock::sim::verbs {

// The plan of this file, for the device and for the calls of libibverbs. kUnimplemented: nobody
// here applies a rule; one line that names it. Other codes: of ReadFaultPlan and FaultEngine.
absl::StatusOr<std::shared_ptr<fabric::faults::FaultEngine>> LoadFaults(const std::string& file,
                                                                        std::uint64_t seed);

// A line for each rule that fires on operations between processes and does nothing to them
// (sim/hosts/README.md), or not to all.
std::vector<std::string> IdleBetweenProcesses(const fabric::faults::FaultPlan& plan);

}  // namespace drydock::sim::verbs

#endif  // DRYDOCK_SIM_VERBS_FAULT_PLAN_H_
