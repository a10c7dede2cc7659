// A payload, and a small write behind it that says that the payload is there.

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
using sim::explore::Parameter;
using sim::explore::Trial;

constexpr std::array<Parameter, 1> kParameters = {
    Parameter{"payload_bytes", 16 << 10, 8, 1 << 20, "of the payload; 1 MiB in the report"},
};
constexpr std::uint32_t kFlag = 1;

coro::Task<absl::Status> WritePayload(fabric::async::Node& a, const BufferRef& payload,
                                      fabric::RemoteBuffer target) {
  const auto written = co_await a.endpoint().Write(payload, target, a.peer(1));
  co_return a.endpoint().ToStatus(written, "write the payload");
}

coro::Task<absl::Status> Send(Scene& scene, const BufferRef& payload, const BufferRef& flag,
                              fabric::RemoteBuffer target, fabric::RemoteBuffer flag_target) {
  fabric::async::Node& a = *scene.nodes[0];
  coro::Scope writes;
  writes.Spawn(WritePayload(a, payload, target));
  // WRONG: the flag is posted behind the payload, and so arrives behind it.
  if (scene.repaired()) CO_RETURN_IF_ERROR(co_await writes.Join());  // REPAIRED: completed first
  const auto flagged =
      co_await a.endpoint().Write(flag, flag_target, a.peer(1), {.immediate = kFlag});
  CO_RETURN_IF_ERROR(a.endpoint().ToStatus(flagged, "write the flag"));
  co_return co_await writes.Join();
}

coro::Task<absl::Status> Take(Scene& scene, const BufferRef& in) {
  ImmediateCounter flags(scene.nodes[1]->dispatcher(), kFlag);
  co_await flags.Reached(1);
  if (!HoldsKeyed(in->bytes(), 1)) scene.truth.Wrong("the flag is here, and its payload is not");
  co_return absl::OkStatus();
}

coro::Task<absl::Status> Program(Scene& scene) {
  const std::size_t bytes = scene.size("payload_bytes");
  CO_ASSIGN_OR_RETURN(const BufferRef payload, scene.nodes[0]->Allocate(bytes));
  CO_ASSIGN_OR_RETURN(const BufferRef flag, scene.nodes[0]->Allocate(8));
  CO_ASSIGN_OR_RETURN(const BufferRef in, scene.nodes[1]->Allocate(bytes));
  CO_ASSIGN_OR_RETURN(const BufferRef flag_in, scene.nodes[1]->Allocate(8));
  FillKeyed(payload->bytes(), 1);
  coro::Scope sides;
  sides.Spawn(Take(scene, in));
  sides.Spawn(Send(scene, payload, flag, in->region().remote(), flag_in->region().remote()));
  co_return co_await sides.Join();
}

Outcome Run(Trial& trial, Twin twin) { return RunOnNodes(trial, twin, 2, &Program); }

}  // namespace

const Exhibit& FlagOvertakes() {
  static const Exhibit exhibit = {
      .name = "flag-overtakes",
      .project = "uccl-project/uccl",
      .origin = "pull request 374",
      .kind = "order",
      .cause = "8 bytes that were posted behind 1 MiB arrive before it",
      .verdict = sim::explore::Verdict::kWrongData,
      .parameters = kParameters,
      .run = &Run,
  };
  return exhibit;
}

}  // namespace drydock::museum
