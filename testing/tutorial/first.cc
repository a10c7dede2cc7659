// The first program of docs/tutorial.md: ./bazelw run //testing/tutorial:first -- FIRST_SEED
// [COUNT]

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/coro/scope.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/task.h"
#include "drydock/fabric/async/async_endpoint.h"
#include "drydock/fabric/async/immediate_counter.h"
#include "drydock/fabric/async/node.h"
#include "drydock/fabric/async/registered_buffer.h"
#include "drydock/fabric/memory.h"
#include "drydock/sim/cluster/two_nodes.h"
#include "drydock/testing/tutorial/seeds.h"

namespace coro = drydock::coro;
namespace sim = drydock::sim;
namespace tutorial = drydock::tutorial;

using drydock::fabric::RemoteBuffer;
using drydock::fabric::async::BufferRef;
using drydock::fabric::async::BufferSlice;
using drydock::fabric::async::ImmediateCounter;
using drydock::fabric::async::Node;
using drydock::fabric::async::OperationOptions;

// The tutorial shows what follows, to the end of the file; tutorial_test compares them.

constexpr std::size_t kPage = 4096, kPages = 16;  // bytes; of a picture
constexpr std::uint32_t kArrived = 7;             // an immediate

coro::Task<absl::Status> WritePage(Node& from, BufferSlice page, RemoteBuffer to,
                                   OperationOptions options) {
  const auto done = co_await from.endpoint().Write(page, to, from.peer(1), options);
  co_return from.endpoint().ToStatus(done, "write page");
}

// Writes all pages at once. The last one tells the receiver that the picture is there.
coro::Task<absl::Status> Send(Node& from, BufferRef picture, RemoteBuffer to) {
  coro::Scope writes;
  for (std::size_t page = 0; page < kPages; ++page, to.address += kPage) {
    OperationOptions options;
    if (page + 1 == kPages) options.immediate = kArrived;
    writes.Spawn(WritePage(from, BufferSlice(picture, page * kPage, kPage), to, options));
  }
  co_return co_await writes.Join();
}

// How many pages the receiver misses when it is told that the picture is there.
coro::Task<absl::StatusOr<std::size_t>> Transfer(Node& from, BufferRef picture, Node& to,
                                                 BufferRef frame) {
  ImmediateCounter arrived(to.dispatcher(), kArrived);
  coro::Scope sender;
  sender.Spawn(Send(from, picture, frame->region().remote()));
  co_await arrived.Reached(1);
  const std::size_t bytes = std::count(frame->bytes().begin(), frame->bytes().end(), std::byte{42});
  CO_RETURN_IF_ERROR(co_await sender.Join());
  co_return kPages - bytes / kPage;
}

absl::StatusOr<std::size_t> Run(std::uint64_t seed) {
  sim::TwoNodes nodes(seed);  // two machines with an EFA NIC each, a network, a clock
  const BufferRef picture = nodes.a.Allocate(kPages * kPage).value(),
                  frame = nodes.b.Allocate(kPages * kPage).value();
  std::fill(picture->bytes().begin(), picture->bytes().end(), std::byte{42});
  return nodes.loop.Run(Transfer(nodes.a, picture, nodes.b, frame));
}

int main(int argc, char** argv) { return tutorial::RunSeeds(argc, argv, kPages, Run); }
