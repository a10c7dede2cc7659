// Simulated machines that know each other: where a program for several machines starts.
//
//   sim::Cluster cluster(/*machines=*/4, {.seed = 7, .profile = "p5"});
//   cluster.loop().Run(AllToAll(cluster));
//
// Each machine is an ordinary fabric::async::Node, so that code that runs here runs on hardware,
// where every process has a node of its own. two_nodes.h is the same for two.

#ifndef DRYDOCK_SIM_CLUSTER_CLUSTER_H_
#define DRYDOCK_SIM_CLUSTER_CLUSTER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "drydock/coro/event_loop.h"
#include "drydock/fabric/async/node.h"
#include "drydock/fabric/fabric.h"
#include "drydock/sim/world/world.h"

namespace drydock::sim {

struct ClusterOptions {
  std::uint64_t seed = 1;              // everything random is drawn from it
  std::string_view profile = "small";  // the kind of machine, of sim/profile/profile.h
};

// What it is: a world in virtual time, a loop on its clock, and a node on NIC 0 of each machine.
// Node i is machine i, and has machine j as peer(j). Ownership: owns all of them; dies after every
// coroutine that uses them. Threads: one.
class Cluster {
 public:
  // REQUIRES: there is such a profile, and it has room for the machines (DeviceAttributes::max_ah).
  explicit Cluster(std::size_t machines, const ClusterOptions& options = {});
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  std::size_t size() const { return nodes_.size(); }
  // REQUIRES, here and below: index < size().
  fabric::async::Node& node(std::size_t index) { return *nodes_[index]; }
  // The machine itself, to stop it or to restart its NICs.
  Node& machine(std::size_t index) { return *machines_[index]; }
  // The fabric of one more machine in the same network, for a program that opens its node itself.
  // Dies before the cluster.
  std::unique_ptr<fabric::Fabric> AddMachine(std::string name);

  World& world() { return world_; }
  coro::EventLoop& loop() { return loop_; }

 private:
  World world_;
  coro::EventLoop loop_;
  std::vector<Node*> machines_;  // of the world
  std::vector<std::unique_ptr<fabric::async::Node>> nodes_;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_CLUSTER_CLUSTER_H_
