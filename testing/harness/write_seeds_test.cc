// The seed tests' own example: a write, announced by its immediate, under the swarm. Sharded.

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "drydock/coro/event_loop.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/async/immediate_counter.h"
#include "drydock/fabric/async/node.h"
#include "drydock/sim/explore/nodes.h"
#include "drydock/testing/harness/seed_test.h"

namespace {

using drydock::fabric::async::BufferRef;
using drydock::fabric::async::Node;
using drydock::sim::explore::OpenNodes;

drydock::coro::Task<absl::Status> WriteOnce(Node& from, BufferRef source,
                                            drydock::fabric::RemoteBuffer target) {
  drydock::fabric::async::OperationOptions options;
  options.immediate = 1;
  const drydock::fabric::Completion written =
      co_await from.endpoint().Write(source, target, from.peer(1), options);
  co_return from.endpoint().ToStatus(written, "write");
}

DD_SEED_TEST(Write, LandsBeforeItsImmediate, {.seeds = 200}) {
  CO_ASSIGN_OR_RETURN(auto machines, OpenNodes(trial, drydock::coro::EventLoop::Current(), 2));
  Node& target = *machines[1];
  CO_ASSIGN_OR_RETURN(const BufferRef source, machines[0]->Allocate(20000));
  CO_ASSIGN_OR_RETURN(const BufferRef landed, target.Allocate(20000));
  std::fill(source->bytes().begin(), source->bytes().end(), std::byte{42});
  drydock::fabric::async::ImmediateCounter announced(target.dispatcher(), 1);
  CO_RETURN_IF_ERROR(co_await WriteOnce(*machines[0], source, landed->region().remote()));
  const drydock::coro::Time deadline =
      drydock::coro::After(drydock::coro::EventLoop::Current().Now(), std::chrono::seconds(1));
  const bool came = co_await announced.Reached(1, deadline);
  if (!came) co_return absl::DeadlineExceededError("no immediate came");
  if (!std::equal(source->bytes().begin(), source->bytes().end(), landed->bytes().begin())) {
    co_return drydock::harness::WrongData("the immediate came before its bytes");
  }
  co_return absl::OkStatus();
}

}  // namespace
