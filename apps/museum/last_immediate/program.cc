// Pages of a batch; the receiver is told when they are there.

#include <array>
#include <cstdint>
#include <optional>

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

constexpr std::array<Parameter, 2> kParameters = {
    Parameter{"pages", 8, 1, 32, "of the batch"},
    Parameter{"page_bytes", 1024, 8, 1 << 16, "bytes of a page"},
};
constexpr std::uint32_t kPages = 1;

coro::Task<absl::Status> WritePage(fabric::async::Node& a, BufferSlice page,
                                   fabric::RemoteBuffer target,
                                   std::optional<std::uint32_t> immediate) {
  const auto written =
      co_await a.endpoint().Write(page, target, a.peer(1), {.immediate = immediate});
  co_return a.endpoint().ToStatus(written, "write a page");
}

coro::Task<absl::Status> Send(Scene& scene, const BufferRef& out, fabric::RemoteBuffer target) {
  const std::uint64_t pages = scene.size("pages");
  const std::size_t bytes = scene.size("page_bytes");
  coro::Scope writes;
  for (std::uint64_t page = 0; page < pages; ++page, target.address += bytes) {
    // WRONG: the last page has the immediate, and speaks for all.
    std::optional<std::uint32_t> immediate;
    if (page + 1 == pages || scene.repaired()) immediate = kPages;  // REPAIRED: each for itself
    writes.Spawn(
        WritePage(*scene.nodes[0], BufferSlice(out, page * bytes, bytes), target, immediate));
  }
  co_return co_await writes.Join();
}

coro::Task<absl::Status> Take(Scene& scene, const BufferRef& in) {
  ImmediateCounter arrived(scene.nodes[1]->dispatcher(), kPages);
  co_await arrived.Reached(scene.repaired() ? scene.size("pages") : 1);
  const std::size_t bytes = scene.size("page_bytes");
  for (std::uint64_t page = 0; page < scene.size("pages"); ++page) {
    if (!HoldsKeyed(in->bytes().subspan(page * bytes, bytes), page)) {
      scene.truth.Wrong(absl::StrCat("page ", page, " is not here"));
    }
  }
  co_return absl::OkStatus();
}

coro::Task<absl::Status> Program(Scene& scene) {
  const std::size_t bytes = scene.size("page_bytes");
  CO_ASSIGN_OR_RETURN(const BufferRef out, scene.nodes[0]->Allocate(scene.size("pages") * bytes));
  CO_ASSIGN_OR_RETURN(const BufferRef in, scene.nodes[1]->Allocate(scene.size("pages") * bytes));
  for (std::uint64_t page = 0; page < scene.size("pages"); ++page) {
    FillKeyed(out->bytes().subspan(page * bytes, bytes), page);
  }
  coro::Scope sides;
  sides.Spawn(Take(scene, in));
  sides.Spawn(Send(scene, out, in->region().remote()));
  co_return co_await sides.Join();
}

Outcome Run(Trial& trial, Twin twin) { return RunOnNodes(trial, twin, 2, &Program); }

}  // namespace

const Exhibit& LastImmediate() {
  static const Exhibit exhibit = {
      .name = "last-immediate",
      .project = "abcdabcd987/libfabric-efa-demo",
      .origin = "src/6_write.cpp",
      .kind = "order",
      .cause = "only the last write of a batch has an immediate, and it may land first",
      .verdict = sim::explore::Verdict::kWrongData,
      .parameters = kParameters,
      .run = &Run,
  };
  return exhibit;
}

}  // namespace drydock::museum
