// Finds which endpoint waits for which, from the devices' records of the requests that programs
// have posted and whose completions they have not read.

#ifndef DRYDOCK_SIM_CHECKS_WAITS_H_
#define DRYDOCK_SIM_CHECKS_WAITS_H_

#include <memory>
#include <vector>

#include "drydock/sim/checks/endpoint_watch.h"
#include "drydock/sim/checks/wait_graph.h"
#include "drydock/sim/device/operation_table.h"

namespace drydock::sim {

// The endpoints in their order are the nodes of the graph.
WaitGraph DescribeWaits(const std::vector<std::unique_ptr<EndpointWatch>>& endpoints,
                        OperationTable& operations);

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_CHECKS_WAITS_H_
