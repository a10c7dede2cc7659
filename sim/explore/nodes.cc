#include "drydock/sim/explore/nodes.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"

namespace drydock::sim::explore {

absl::StatusOr<std::unique_ptr<fabric::async::Node>> OpenNode(Trial& trial, coro::EventLoop& loop,
                                                              std::string name) {
  ASSIGN_OR_RETURN(auto fabric, trial.OpenMachine(std::move(name)));
  return fabric::async::Node::Open(loop, std::move(fabric));
}

absl::StatusOr<Nodes> OpenNodes(Trial& trial, coro::EventLoop& loop, std::size_t count) {
  Nodes nodes;
  for (std::size_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(auto node, OpenNode(trial, loop, absl::StrCat("machine", i)));
    nodes.push_back(std::move(node));
  }
  RETURN_IF_ERROR(fabric::async::Introduce(nodes));
  return nodes;
}

}  // namespace drydock::sim::explore
