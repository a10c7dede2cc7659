// A receiver that puts eager messages in order: each says which one was before it.

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "drydock/apps/museum/exhibits.h"
#include "drydock/apps/museum/stage.h"
#include "drydock/coro/scope.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/async/message_receiver.h"

namespace drydock::museum {
namespace {

using fabric::async::BufferRef;
using fabric::async::BufferSlice;
using sim::explore::Outcome;
using sim::explore::Parameter;
using sim::explore::Trial;

constexpr std::array<Parameter, 2> kParameters = {
    Parameter{"number_bits", 5, 1, 10, "of a sequence number; 10 in the plugin"},
    Parameter{"eager", 3, 2, 16, "eager messages, a wrap of other messages apart"},
};

// In front of every eager message.
struct Header {
  std::uint32_t number = 0;
  std::uint32_t previous = 0;  // of the eager message before; its own: there is none
};

coro::Task<absl::Status> SendAll(Scene& scene, const BufferRef& out, fabric::RemoteBuffer target) {
  fabric::async::Node& a = *scene.nodes[0];
  const std::uint32_t wrap = 1u << scene.size("number_bits");
  std::uint32_t messages = 0;  // eager ones and others
  std::uint32_t last = 0;
  for (std::uint32_t eager = 0; eager < scene.size("eager"); ++eager) {
    // WRONG: all messages share one number of few bits, and many others come between two of these.
    std::uint32_t number = messages++ % wrap;
    if (scene.repaired()) number = eager;  // REPAIRED: counts eager messages only
    const Header header{number, eager == 0 ? number : last};
    last = number;
    std::memcpy(out->bytes().data(), &header, sizeof(header));
    const auto sent = co_await a.endpoint().Send(BufferSlice(out, 0, sizeof(header)), a.peer(1));
    CO_RETURN_IF_ERROR(a.endpoint().ToStatus(sent, "send an eager message"));
    for (; messages % wrap != 0; ++messages) {  // long ones, each a write
      const auto written = co_await a.endpoint().Write(BufferSlice(out, 64, 64), target, a.peer(1));
      CO_RETURN_IF_ERROR(a.endpoint().ToStatus(written, "write a long message"));
    }
  }
  co_return absl::OkStatus();
}

coro::Task<absl::Status> TakeAll(Scene& scene, const BufferRef& room) {
  fabric::async::MessageReceiver receiver(scene.nodes[1]->endpoint(), room, 4, 64, 4);
  std::optional<std::uint32_t> last;
  for (std::uint64_t taken = 0; taken < scene.size("eager");) {
    CO_ASSIGN_OR_RETURN(const auto message, co_await receiver.Next());
    Header header;
    std::memcpy(&header, message.bytes.data(), sizeof(header));
    const bool is_first = header.previous == header.number;
    const bool is_next = last.has_value() ? !is_first && header.previous == *last : is_first;
    if (!is_next) continue;  // not yet its turn, or it was here before
    last = header.number;
    ++taken;
  }
  co_return absl::OkStatus();
}

coro::Task<absl::Status> Program(Scene& scene) {
  CO_ASSIGN_OR_RETURN(const BufferRef out, scene.nodes[0]->Allocate(128));
  CO_ASSIGN_OR_RETURN(const BufferRef room, scene.nodes[1]->Allocate(4 * 64));
  CO_ASSIGN_OR_RETURN(const BufferRef in, scene.nodes[1]->Allocate(64));
  coro::Scope sides;
  sides.Spawn(TakeAll(scene, room));
  sides.Spawn(SendAll(scene, out, in->region().remote()));
  co_return co_await sides.Join();
}

Outcome Run(Trial& trial, Twin twin) { return RunOnNodes(trial, twin, 2, &Program); }

}  // namespace

const Exhibit& SequenceWraps() {
  static const Exhibit exhibit = {
      .name = "sequence-wraps",
      .project = "aws/aws-ofi-nccl",
      .origin = "commit 1a705588, pull request 1277",
      .kind = "immediates and counters",
      .cause = "a sequence number of 10 bits wraps, and two messages cannot be told apart",
      .verdict = sim::explore::Verdict::kHang,
      .parameters = kParameters,
      .run = &Run,
  };
  return exhibit;
}

}  // namespace drydock::museum
