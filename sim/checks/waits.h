// Who waits for whom: what the devices know of the requests that programs have posted and not
// heard of.

#ifndef SIM_CHECKS_WAITS_H_
#define SIM_CHECKS_WAITS_H_

#include <memory>
#include <vector>

#include "sim/checks/endpoint_watch.h"
#include "sim/checks/wait_graph.h"
#include "sim/device/operation_table.h"

namespace sim {

// The endpoints in their order are the nodes of the graph.
WaitGraph DescribeWaits(const std::vector<std::unique_ptr<EndpointWatch>>& endpoints,
                        OperationTable& operations);

}  // namespace sim

#endif  // SIM_CHECKS_WAITS_H_
