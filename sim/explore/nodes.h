// The machines of a trial, opened for coroutines: what a scenario's program runs on.

#ifndef SIM_EXPLORE_NODES_H_
#define SIM_EXPLORE_NODES_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coro/event_loop.h"
#include "fabric/async/node.h"
#include "sim/explore/trial.h"

namespace sim::explore {

using Nodes = std::vector<std::unique_ptr<fabric::async::Node>>;

// A node on the first NIC of a new machine, under the trial's faults. Dies before the loop and the
// trial. Errors: whatever the faults let fail.
absl::StatusOr<std::unique_ptr<fabric::async::Node>> OpenNode(Trial& trial, coro::EventLoop& loop,
                                                              std::string name);
// `count` of them, each of which has all the others as peers by their numbers.
absl::StatusOr<Nodes> OpenNodes(Trial& trial, coro::EventLoop& loop, std::size_t count);

}  // namespace sim::explore

#endif  // SIM_EXPLORE_NODES_H_
