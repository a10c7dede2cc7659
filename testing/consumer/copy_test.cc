// 100 seeds, each with its own order, delays and faults: the copy is right, or says that it failed.

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "coro/status_macros.h"
#include "fabric/async/immediate_counter.h"
#include "fabric/async/node.h"
#include "pages.h"
#include "sim/explore/nodes.h"
#include "testing/harness/seed_test.h"

namespace {

// Nobody calls it: what is an error in Drydock's own build is none in a project that has not asked.
void NobodyCalls() {}

coro::Task<absl::Status> CopyPage(fabric::async::Node& node, fabric::async::BufferSlice page,
                                  fabric::RemoteBuffer to) {
  const auto done = co_await node.endpoint().Write(page, to, node.peer(1), {.immediate = 7});
  co_return node.endpoint().ToStatus(done, "write page");
}

DD_SEED_TEST(Copy, IsRightOrSaysSo, {.seeds = 100}) {
  coro::EventLoop& loop = coro::EventLoop::Current();
  CO_ASSIGN_OR_RETURN(auto machines, sim::explore::OpenNodes(trial, loop, 2));
  CO_ASSIGN_OR_RETURN(const auto from, machines[0]->Allocate(8 * kPage));
  CO_ASSIGN_OR_RETURN(const auto to, machines[1]->Allocate(8 * kPage));
  std::fill(from->bytes().begin(), from->bytes().end(), std::byte{42});
  fabric::async::ImmediateCounter arrived(machines[1]->dispatcher(), 7);
  fabric::RemoteBuffer target = to->region().remote();
  for (std::size_t at = 0; at < from->bytes().size(); at += kPage, target.address += kPage) {
    CO_RETURN_IF_ERROR(
        co_await CopyPage(*machines[0], fabric::async::BufferSlice(from, at, kPage), target));
  }
  const std::size_t pages = PagesOf(from->bytes().size());
  if (!co_await arrived.Reached(pages, coro::After(loop.Now(), std::chrono::seconds(1)))) {
    co_return absl::DeadlineExceededError("not every page was announced");
  }
  if (!std::equal(from->bytes().begin(), from->bytes().end(), to->bytes().begin())) {
    co_return harness::WrongData("a page was announced before its bytes");
  }
  co_return absl::OkStatus();
}

}  // namespace
