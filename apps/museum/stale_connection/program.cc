// A receiver that gives a connection's number to the next one when it was told goodbye.

#include <array>
#include <cstdint>

#include "drydock/apps/museum/exhibits.h"
#include "drydock/apps/museum/stage.h"
#include "drydock/coro/scope.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/async/immediate_counter.h"
#include "drydock/fabric/async/message_receiver.h"

namespace drydock::museum {
namespace {

using fabric::async::BufferRef;
using fabric::async::BufferSlice;
using fabric::async::ImmediateCounter;
using sim::explore::Outcome;
using sim::explore::Parameter;
using sim::explore::Trial;

constexpr std::array<Parameter, 1> kParameters = {
    Parameter{"page_bytes", 16384, 8, 1 << 16, "bytes of a page"},
};
constexpr std::uint32_t kNumber = 7;  // of both connections, one after the other

// The immediate of a page of a connection.
std::uint32_t Announce(std::uint32_t life, Twin twin) {
  // WRONG: the number alone; its former connection is not told from its present one.
  std::uint32_t immediate = kNumber;
  if (twin == Twin::kRepaired) immediate |= life << 16;  // REPAIRED: and which life of it
  return immediate;
}

coro::Task<absl::Status> WritePage(Scene& scene, std::size_t from, const BufferRef& page,
                                   fabric::RemoteBuffer target) {
  fabric::async::Node& node = *scene.nodes[from];
  const auto immediate = Announce(static_cast<std::uint32_t>(from), scene.twin);
  const auto written =
      co_await node.endpoint().Write(page, target, node.peer(0), {.immediate = immediate});
  co_return node.endpoint().ToStatus(written, "write a page");
}

// A page, and a goodbye that does not wait for it.
coro::Task<absl::Status> WriteAndLeave(Scene& scene, const BufferRef& page, const BufferRef& bye,
                                       fabric::RemoteBuffer target) {
  fabric::async::Node& node = *scene.nodes[1];
  coro::Scope writes;
  writes.Spawn(WritePage(scene, 1, page, target));
  const auto left = co_await node.endpoint().Send(bye, node.peer(0));
  CO_RETURN_IF_ERROR(node.endpoint().ToStatus(left, "say goodbye"));
  co_return co_await writes.Join();
}

coro::Task<absl::Status> Program(Scene& scene) {
  const std::size_t bytes = scene.size("page_bytes");
  fabric::async::Node& receiver = *scene.nodes[0];
  CO_ASSIGN_OR_RETURN(const BufferRef room, receiver.Allocate(2 * 64));
  CO_ASSIGN_OR_RETURN(const BufferRef first_in, receiver.Allocate(bytes));
  CO_ASSIGN_OR_RETURN(const BufferRef second_in, receiver.Allocate(bytes));
  CO_ASSIGN_OR_RETURN(const BufferRef first, scene.nodes[1]->Allocate(bytes));
  CO_ASSIGN_OR_RETURN(const BufferRef bye, scene.nodes[1]->Allocate(64));
  CO_ASSIGN_OR_RETURN(const BufferRef second, scene.nodes[2]->Allocate(bytes));
  FillKeyed(second->bytes(), 2);
  fabric::async::MessageReceiver goodbyes(receiver.endpoint(), room, 2, 64, 2);
  coro::Scope peers;
  peers.Spawn(WriteAndLeave(scene, first, bye, first_in->region().remote()));
  CO_ASSIGN_OR_RETURN(const auto goodbye, co_await goodbyes.Next());
  static_cast<void>(goodbye);
  // The number is free: the second peer has it now.
  ImmediateCounter arrived(receiver.dispatcher(), Announce(2, scene.twin));
  peers.Spawn(WritePage(scene, 2, second, second_in->region().remote()));
  co_await arrived.Reached(1);
  if (!HoldsKeyed(second_in->bytes(), 2)) {
    scene.truth.Wrong("a page of the connection before was taken for one of this connection");
  }
  co_return co_await peers.Join();
}

Outcome Run(Trial& trial, Twin twin) { return RunOnNodes(trial, twin, 3, &Program); }

}  // namespace

const Exhibit& StaleConnection() {
  static const Exhibit exhibit = {
      .name = "stale-connection",
      .project = "ofiwg/libfabric",
      .origin = "pull requests 11151 and 11966",
      .kind = "address vector",
      .cause = "a number is used again, and what its last owner left behind goes to the new one",
      .verdict = sim::explore::Verdict::kWrongData,
      .parameters = kParameters,
      .run = &Run,
  };
  return exhibit;
}

}  // namespace drydock::museum
