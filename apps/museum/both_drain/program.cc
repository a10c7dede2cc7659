// Two ends that close: neither may go before the other has nothing under way to it.

#include <array>
#include <cstdint>

#include "drydock/apps/museum/exhibits.h"
#include "drydock/apps/museum/stage.h"
#include "drydock/coro/scope.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/async/immediate_counter.h"

namespace drydock::museum {
namespace {

using fabric::async::BufferRef;
using fabric::async::BufferSlice;
using fabric::async::ImmediateCounter;
using sim::explore::Outcome;
using sim::explore::Trial;

constexpr std::uint32_t kDrained = 1;  // "nothing of mine is under way to you any more"

coro::Task<absl::Status> SayDrained(fabric::async::Node& node, fabric::Peer other,
                                    const BufferRef& memory, fabric::RemoteBuffer target) {
  const auto said = co_await node.endpoint().Write(BufferSlice(memory, 0, 8), target, other,
                                                   {.immediate = kDrained});
  co_return node.endpoint().ToStatus(said, "say that all is drained");
}

coro::Task<absl::Status> Close(Scene& scene, std::size_t self, const BufferRef& memory,
                               fabric::RemoteBuffer target) {
  fabric::async::Node& node = *scene.nodes[self];
  ImmediateCounter drained(node.dispatcher(), kDrained);
  const fabric::Peer other = node.peer(1 - self);
  // REPAIRED: says so first, and then waits for the other.
  if (scene.repaired()) CO_RETURN_IF_ERROR(co_await SayDrained(node, other, memory, target));
  co_await drained.Reached(1);
  // WRONG: waits for the other first; so does the other.
  if (!scene.repaired()) CO_RETURN_IF_ERROR(co_await SayDrained(node, other, memory, target));
  co_return node.endpoint().Close();
}

coro::Task<absl::Status> Program(Scene& scene) {
  CO_ASSIGN_OR_RETURN(const BufferRef of_a, scene.nodes[0]->Allocate(64));
  CO_ASSIGN_OR_RETURN(const BufferRef of_b, scene.nodes[1]->Allocate(64));
  coro::Scope sides;
  sides.Spawn(Close(scene, 0, of_a, of_b->region().remote()));
  sides.Spawn(Close(scene, 1, of_b, of_a->region().remote()));
  co_return co_await sides.Join();
}

Outcome Run(Trial& trial, Twin twin) { return RunOnNodes(trial, twin, 2, &Program); }

}  // namespace

const Exhibit& BothDrain() {
  static const Exhibit exhibit = {
      .name = "both-drain",
      .project = "aws/aws-ofi-nccl",
      .origin = "commit ad284f74",
      .kind = "teardown",
      .cause = "two ends drain at close, and each waits for the other before it says so",
      .verdict = sim::explore::Verdict::kHang,
      .run = &Run,
  };
  return exhibit;
}

}  // namespace drydock::museum
