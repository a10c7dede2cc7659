// Two simulated machines that know each other, by short names, for examples and tests.
//
//   sim::TwoNodes nodes(/*seed=*/1);
//   const BufferRef page = nodes.a.Allocate(4096).value();
//   const absl::Status status = nodes.loop.Run(SomeTask(nodes.a, nodes.b, page));

#ifndef DRYDOCK_SIM_CLUSTER_TWO_NODES_H_
#define DRYDOCK_SIM_CLUSTER_TWO_NODES_H_

#include <cstdint>
#include <string_view>

#include "drydock/coro/event_loop.h"
#include "drydock/fabric/async/node.h"
#include "drydock/sim/cluster/cluster.h"
#include "drydock/sim/world/world.h"

namespace drydock::sim {

// A Cluster of two: a has b as peer(1), and b has a as peer(0).
struct TwoNodes {
  explicit TwoNodes(std::uint64_t seed = 1, std::string_view profile = "small")
      : cluster(2, {.seed = seed, .profile = profile}) {}

  Cluster cluster;
  World& world = cluster.world();
  coro::EventLoop& loop = cluster.loop();
  fabric::async::Node& a = cluster.node(0);
  fabric::async::Node& b = cluster.node(1);
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_CLUSTER_TWO_NODES_H_
