// The machines of a trial, on which a scenario's program runs, opened for coroutines.

#ifndef DRYDOCK_SIM_EXPLORE_NODES_H_
#define DRYDOCK_SIM_EXPLORE_NODES_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/coro/event_loop.h"
#include "drydock/fabric/async/node.h"
#include "drydock/sim/explore/trial.h"

namespace drydock::sim::explore {

using Nodes = std::vector<std::unique_ptr<fabric::async::Node>>;

// A node on the first NIC of a new machine, under the trial's faults. Dies before the loop and the
// trial. Errors: those that the faults cause.
absl::StatusOr<std::unique_ptr<fabric::async::Node>> OpenNode(Trial& trial, coro::EventLoop& loop,
                                                              std::string name);
// `count` of them, each of which has all the others as peers by their numbers.
absl::StatusOr<Nodes> OpenNodes(Trial& trial, coro::EventLoop& loop, std::size_t count);

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_NODES_H_
