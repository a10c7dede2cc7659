#include "testing/harness/two_nodes.h"

namespace harness {

TestNode::TestNode(sim::World& world, coro::EventLoop& loop, const char* name)
    : node(world.AddNode(name)),
      fabric(sim::OpenSimFabric(world, node)),
      domain(fabric->OpenDomain(0).value()),
      peers(domain->OpenAddressVector().value()),
      dispatcher(std::make_unique<fabric::async::CompletionDispatcher>(
          loop, domain->OpenCompletionQueue({}).value())) {
  auto raw = domain->OpenEndpoint({.send_queue = &dispatcher->queue(),
                                   .receive_queue = &dispatcher->queue(),
                                   .address_vector = peers.get()});
  endpoint = std::make_unique<fabric::async::AsyncEndpoint>(*dispatcher, *std::move(raw));
}

fabric::async::BufferRef TestNode::Buffer(std::size_t length_bytes) {
  return fabric::async::AllocateBuffer(*domain, length_bytes).value();
}

TwoNodes::TwoNodes(std::uint64_t seed, const char* profile)
    : world(seed, **sim::FindProfile(profile)),
      loop(world),
      a(world, loop, "a"),
      b(world, loop, "b") {
  a.peer = a.peers->Insert(b.endpoint->address()).value();
  b.peer = b.peers->Insert(a.endpoint->address()).value();
}

}  // namespace harness
