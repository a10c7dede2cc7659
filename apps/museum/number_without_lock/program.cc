// Two threads that send to one peer, whose messages are numbered.

#include <array>
#include <cstdint>
#include <set>

#include "drydock/apps/museum/exhibits.h"
#include "drydock/apps/museum/stage.h"
#include "drydock/coro/mutex.h"
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

constexpr std::array<Parameter, 1> kParameters = {
    Parameter{"messages", 4, 1, 64, "of each thread"},
};

// What the threads share.
struct PeerRecord {
  std::uint32_t next_number = 0;
  coro::Mutex mutex = {};
};

// Reads the number and counts it on; another thread may run in between.
coro::Task<std::uint32_t> TakeNumber(Scene& scene, PeerRecord& peer) {
  const std::uint32_t number = peer.next_number;
  co_await Preempt(scene);
  peer.next_number = number + 1;
  co_return number;
}

coro::Task<absl::Status> SendFromThread(Scene& scene, PeerRecord& peer, const BufferRef& out) {
  fabric::async::Node& a = *scene.nodes[0];
  for (std::uint64_t i = 0; i < scene.size("messages"); ++i) {
    std::uint32_t number = 0;
    if (scene.repaired()) {  // REPAIRED: under the lock
      const auto lock = co_await peer.mutex.Lock();
      number = co_await TakeNumber(scene, peer);
    } else {  // WRONG: the record is looked up and used without it
      number = co_await TakeNumber(scene, peer);
    }
    const auto sent =
        co_await a.endpoint().Send(BufferSlice(out, 0, 8), a.peer(1), {.immediate = number});
    CO_RETURN_IF_ERROR(a.endpoint().ToStatus(sent, "send a message"));
    co_await Preempt(scene);
  }
  co_return absl::OkStatus();
}

// Messages in the order of their numbers; what comes twice is dropped.
coro::Task<absl::Status> Take(Scene& scene, const BufferRef& room) {
  fabric::async::MessageReceiver receiver(scene.nodes[1]->endpoint(), room, 8, 64, 8);
  std::uint32_t expected = 0;
  std::set<std::uint32_t> early;
  while (expected < 2 * scene.size("messages")) {
    CO_ASSIGN_OR_RETURN(const auto message, co_await receiver.Next());
    early.insert(message.immediate.value_or(0));
    while (early.erase(expected) > 0) ++expected;
  }
  co_return absl::OkStatus();
}

coro::Task<absl::Status> Program(Scene& scene) {
  CO_ASSIGN_OR_RETURN(const BufferRef out, scene.nodes[0]->Allocate(64));
  CO_ASSIGN_OR_RETURN(const BufferRef room, scene.nodes[1]->Allocate(8 * 64));
  PeerRecord peer;
  coro::Scope threads;
  threads.Spawn(Take(scene, room));
  threads.Spawn(SendFromThread(scene, peer, out));
  threads.Spawn(SendFromThread(scene, peer, out));
  co_return co_await threads.Join();
}

Outcome Run(Trial& trial, Twin twin) { return RunOnNodes(trial, twin, 2, &Program); }

}  // namespace

const Exhibit& NumberWithoutLock() {
  static const Exhibit exhibit = {
      .name = "number-without-lock",
      .project = "ofiwg/libfabric",
      .origin = "pull request 11917",
      .kind = "threads",
      .cause = "a peer's record is used without the lock, and two messages get one number",
      .verdict = sim::explore::Verdict::kHang,
      .parameters = kParameters,
      .run = &Run,
  };
  return exhibit;
}

}  // namespace drydock::museum
