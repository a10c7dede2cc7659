// A thread that writes to a peer, and one that replaces the peer when it has reconnected.

#include <array>
#include <cstdint>

#include "drydock/apps/museum/exhibits.h"
#include "drydock/apps/museum/stage.h"
#include "drydock/coro/mutex.h"
#include "drydock/coro/scope.h"
#include "drydock/coro/status_macros.h"

namespace drydock::museum {
namespace {

using fabric::async::BufferRef;
using fabric::async::BufferSlice;
using sim::explore::Outcome;
using sim::explore::Parameter;
using sim::explore::Trial;

constexpr std::array<Parameter, 2> kParameters = {
    Parameter{"batches", 8, 1, 64, "of the thread that writes"},
    Parameter{"reconnects", 4, 1, 64, "of the peer"},
};

// What the threads share.
struct Connection {
  fabric::Peer peer{};
  coro::Mutex mutex = {};
};

coro::Task<absl::Status> Submit(Scene& scene, fabric::Peer peer, const BufferRef& out,
                                fabric::RemoteBuffer target) {
  co_await Preempt(scene);  // the slices are being cut
  const auto written =
      co_await scene.nodes[0]->endpoint().Write(BufferSlice(out, 0, 64), target, peer);
  co_return scene.nodes[0]->endpoint().ToStatus(written, "write a slice");
}

coro::Task<absl::Status> Write(Scene& scene, Connection& connection, const BufferRef& out,
                               fabric::RemoteBuffer target) {
  for (std::uint64_t i = 0; i < scene.size("batches"); ++i) {
    fabric::Peer peer = fabric::kNoPeer;
    {
      const auto lock = co_await connection.mutex.Lock();
      peer = connection.peer;
      // REPAIRED: the lock is held until the batch is posted and done.
      if (scene.repaired()) CO_RETURN_IF_ERROR(co_await Submit(scene, peer, out, target));
    }
    // WRONG: the peer was read under the lock, and is used after it.
    if (!scene.repaired()) CO_RETURN_IF_ERROR(co_await Submit(scene, peer, out, target));
    co_await Preempt(scene);
  }
  co_return absl::OkStatus();
}

coro::Task<absl::Status> Reconnect(Scene& scene, Connection& connection) {
  fabric::async::Node& a = *scene.nodes[0];
  for (std::uint64_t i = 0; i < scene.size("reconnects"); ++i) {
    co_await Preempt(scene);
    const auto lock = co_await connection.mutex.Lock();
    CO_RETURN_IF_ERROR(a.peers().Remove(connection.peer));
    CO_ASSIGN_OR_RETURN(connection.peer, a.peers().Insert(scene.nodes[1]->address()));
  }
  co_return absl::OkStatus();
}

coro::Task<absl::Status> Program(Scene& scene) {
  CO_ASSIGN_OR_RETURN(const BufferRef out, scene.nodes[0]->Allocate(64));
  CO_ASSIGN_OR_RETURN(const BufferRef in, scene.nodes[1]->Allocate(64));
  Connection connection;
  CO_ASSIGN_OR_RETURN(connection.peer, scene.nodes[0]->peers().Insert(scene.nodes[1]->address()));
  coro::Scope threads;
  threads.Spawn(Reconnect(scene, connection));
  threads.Spawn(Write(scene, connection, out, in->region().remote()));
  co_return co_await threads.Join();
}

Outcome Run(Trial& trial, Twin twin) { return RunOnNodes(trial, twin, 2, &Program); }

}  // namespace

const Exhibit& PeerRemovedInUse() {
  static const Exhibit exhibit = {
      .name = "peer-removed-in-use",
      .project = "kvcache-ai/Mooncake",
      .origin = "issue 2022, pull request 2023",
      .kind = "threads",
      .cause = "a peer is removed from the address vector between its look-up and the write to it",
      .verdict = sim::explore::Verdict::kUnexplainedError,
      .parameters = kParameters,
      .run = &Run,
  };
  return exhibit;
}

}  // namespace drydock::museum
