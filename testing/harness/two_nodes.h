// Two simulated machines in one world, one loop, and an asynchronous endpoint on each: what most
// tests start from.

#ifndef TESTING_HARNESS_TWO_NODES_H_
#define TESTING_HARNESS_TWO_NODES_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "coro/event_loop.h"
#include "fabric/async/async_endpoint.h"
#include "fabric/async/completion_dispatcher.h"
#include "fabric/async/registered_buffer.h"
#include "sim/driver/sim_fabric.h"
#include "sim/world/world.h"

namespace harness {

// One machine: its NIC 0, opened. Members die in reverse order, the endpoint first.
struct TestNode {
  TestNode(sim::World& world, coro::EventLoop& loop, const char* name);

  fabric::async::BufferRef Buffer(std::size_t length_bytes);

  sim::Node& node;
  std::unique_ptr<fabric::Fabric> fabric;
  std::unique_ptr<fabric::Domain> domain;
  std::unique_ptr<fabric::AddressVector> peers;
  std::unique_ptr<fabric::async::CompletionDispatcher> dispatcher;
  std::unique_ptr<fabric::async::AsyncEndpoint> endpoint;
  fabric::Peer peer{};  // the other one
};

// Each knows the other.
struct TwoNodes {
  explicit TwoNodes(std::uint64_t seed = 1, const char* profile = "small");

  sim::World world;
  coro::EventLoop loop;
  TestNode a;
  TestNode b;
};

}  // namespace harness

#endif  // TESTING_HARNESS_TWO_NODES_H_
