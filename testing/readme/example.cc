// The program of README.md, which a reader can run: ./bazelw run //testing/readme:example

#include <algorithm>
#include <iostream>

#include "absl/status/status.h"
#include "drydock/coro/scope.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/task.h"
#include "drydock/fabric/async/immediate_counter.h"
#include "drydock/fabric/async/node.h"
#include "drydock/fabric/async/registered_buffer.h"
#include "drydock/fabric/memory.h"
#include "drydock/sim/cluster/two_nodes.h"

namespace coro = drydock::coro;
namespace sim = drydock::sim;

using drydock::fabric::RemoteBuffer;
using drydock::fabric::async::BufferRef;
using drydock::fabric::async::BufferSlice;
using drydock::fabric::async::ImmediateCounter;
using drydock::fabric::async::Node;

// README.md shows what follows, to the end of the file; readme_test compares them.

// One write. EFA may land it before or after any other: its immediate vouches only for itself.
coro::Task<absl::Status> WritePage(Node& node, BufferSlice page, RemoteBuffer to) {
  const auto done = co_await node.endpoint().Write(page, to, node.peer(1), {.immediate = 7});
  co_return node.endpoint().ToStatus(done, "write page");
}

// Copies `from` on one machine to `to` on the other, all pages at once.
coro::Task<absl::Status> Copy(Node& writer, BufferRef from, Node& reader, BufferRef to) {
  ImmediateCounter arrived(reader.dispatcher(), 7);
  coro::Scope writes;
  RemoteBuffer target = to->region().remote();
  for (std::size_t at = 0; at < from->bytes().size(); at += 4096, target.address += 4096) {
    writes.Spawn(WritePage(writer, BufferSlice(from, at, 4096), target));
  }
  CO_RETURN_IF_ERROR(co_await writes.Join());
  co_await arrived.Reached(from->bytes().size() / 4096);
  co_return absl::OkStatus();
}

int main() {
  sim::TwoNodes nodes(/*seed=*/1);  // two simulated machines, one EFA NIC each, virtual time
  const BufferRef from = nodes.a.Allocate(1 << 20).value(), to = nodes.b.Allocate(1 << 20).value();
  std::fill(from->bytes().begin(), from->bytes().end(), std::byte{42});
  std::cout << nodes.loop.Run(Copy(nodes.a, from, nodes.b, to)) << "\n";
  return std::equal(from->bytes().begin(), from->bytes().end(), to->bytes().begin()) ? 0 : 1;
}
