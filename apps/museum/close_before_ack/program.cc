// A sender that closes when it is done, and a receiver that acknowledges every message.

#include <array>
#include <cstdint>

#include "absl/strings/str_cat.h"
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
using sim::explore::Parameter;
using sim::explore::Trial;

constexpr std::array<Parameter, 1> kParameters = {
    Parameter{"messages", 4, 1, 32, "all under way at once"},
};
constexpr std::uint32_t kMessage = 1;
constexpr std::uint32_t kAcknowledgement = 2;

coro::Task<absl::Status> WriteOne(fabric::async::Node& from, fabric::Peer to, const BufferRef& out,
                                  fabric::RemoteBuffer target, std::uint32_t immediate) {
  const auto written =
      co_await from.endpoint().Write(BufferSlice(out, 0, 64), target, to, {.immediate = immediate});
  co_return from.endpoint().ToStatus(
      written, immediate == kMessage ? "write a message" : "acknowledge a message");
}

coro::Task<absl::Status> Send(Scene& scene, const BufferRef& memory, fabric::RemoteBuffer target) {
  fabric::async::Node& a = *scene.nodes[0];
  ImmediateCounter acknowledged(a.dispatcher(), kAcknowledgement);
  coro::Scope writes;
  for (std::uint64_t i = 0; i < scene.size("messages"); ++i) {
    writes.Spawn(WriteOne(a, a.peer(1), memory, target, kMessage));
  }
  CO_RETURN_IF_ERROR(co_await writes.Join());
  // WRONG: all has been written, so this end may go; acknowledgements are on their way to it.
  if (scene.repaired()) co_await acknowledged.Reached(scene.size("messages"));  // REPAIRED
  co_return a.endpoint().Close();
}

coro::Task<absl::Status> Acknowledge(Scene& scene, const BufferRef& memory,
                                     fabric::RemoteBuffer target) {
  fabric::async::Node& b = *scene.nodes[1];
  ImmediateCounter arrived(b.dispatcher(), kMessage);
  for (std::uint64_t i = 0; i < scene.size("messages"); ++i) {
    co_await arrived.Reached(i + 1);
    CO_RETURN_IF_ERROR(co_await WriteOne(b, b.peer(0), memory, target, kAcknowledgement));
  }
  co_return absl::OkStatus();
}

coro::Task<absl::Status> Program(Scene& scene) {
  CO_ASSIGN_OR_RETURN(const BufferRef of_a, scene.nodes[0]->Allocate(64));
  CO_ASSIGN_OR_RETURN(const BufferRef of_b, scene.nodes[1]->Allocate(64));
  coro::Scope sides;
  sides.Spawn(Acknowledge(scene, of_b, of_a->region().remote()));
  sides.Spawn(Send(scene, of_a, of_b->region().remote()));
  co_return co_await sides.Join();
}

Outcome Run(Trial& trial, Twin twin) { return RunOnNodes(trial, twin, 2, &Program); }

}  // namespace

const Exhibit& CloseBeforeAck() {
  static const Exhibit exhibit = {
      .name = "close-before-ack",
      .project = "aws/aws-ofi-nccl",
      .origin = "commit 5960a298",
      .kind = "teardown",
      .cause = "an end closes while its peer's acknowledgements are on their way to it",
      .verdict = sim::explore::Verdict::kUnexplainedError,
      .parameters = kParameters,
      .run = &Run,
  };
  return exhibit;
}

}  // namespace drydock::museum
