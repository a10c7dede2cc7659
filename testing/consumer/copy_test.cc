// 100 seeds, each with its own order, delays and faults: the copy is right, or says that it failed.

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "drydock/coro/status_macros.h"
#include "drydock/fabric/async/immediate_counter.h"
#include "drydock/fabric/async/node.h"
#include "drydock/sim/explore/nodes.h"
#include "drydock/testing/harness/seed_test.h"
#include "fabric/endpoint.h"

namespace {

using drydock::coro::EventLoop;
using drydock::coro::Task;
using drydock::fabric::RemoteBuffer;
using drydock::fabric::async::BufferSlice;
using drydock::fabric::async::ImmediateCounter;
using drydock::fabric::async::Node;
using fabric::kPage;  // the project's

// Nobody calls it: what is an error in Drydock's own build is none in a project that has not asked.
void NobodyCalls() {}

Task<absl::Status> CopyPage(Node& node, BufferSlice page, RemoteBuffer to) {
  const auto done = co_await node.endpoint().Write(page, to, node.peer(1), {.immediate = 7});
  co_return node.endpoint().ToStatus(done, "write page");
}

DD_SEED_TEST(Copy, IsRightOrSaysSo, {.seeds = 100}) {
  EventLoop& loop = EventLoop::Current();
  CO_ASSIGN_OR_RETURN(auto machines, drydock::sim::explore::OpenNodes(trial, loop, 2));
  CO_ASSIGN_OR_RETURN(const auto from, machines[0]->Allocate(8 * kPage));
  CO_ASSIGN_OR_RETURN(const auto to, machines[1]->Allocate(8 * kPage));
  std::fill(from->bytes().begin(), from->bytes().end(), std::byte{42});
  ImmediateCounter arrived(machines[1]->dispatcher(), 7);
  RemoteBuffer target = to->region().remote();
  for (std::size_t at = 0; at < from->bytes().size(); at += kPage, target.address += kPage) {
    CO_RETURN_IF_ERROR(co_await CopyPage(*machines[0], BufferSlice(from, at, kPage), target));
  }
  const std::size_t pages = fabric::Endpoint::PagesOf(from->bytes().size());
  const auto deadline = drydock::coro::After(loop.Now(), std::chrono::seconds(1));
  if (!co_await arrived.Reached(pages, deadline)) {
    co_return absl::DeadlineExceededError("not every page was announced");
  }
  if (!std::equal(from->bytes().begin(), from->bytes().end(), to->bytes().begin())) {
    co_return drydock::harness::WrongData("a page was announced before its bytes");
  }
  co_return absl::OkStatus();
}

}  // namespace
