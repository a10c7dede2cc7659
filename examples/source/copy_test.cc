// 100 seeds, each with its own order, delays and faults: the copy is right, or says that it failed.

#include "copy.h"

#include <algorithm>
#include <chrono>

#include "drydock/fabric/async/immediate_counter.h"
#include "drydock/sim/explore/nodes.h"
#include "drydock/testing/harness/seed_test.h"

namespace coro = drydock::coro;
namespace fabric = drydock::fabric;
namespace harness = drydock::harness;
namespace sim = drydock::sim;

namespace {

DD_SEED_TEST(Copy, IsRightOrSaysSo, {.seeds = 100}) {
  coro::EventLoop& loop = coro::EventLoop::Current();
  CO_ASSIGN_OR_RETURN(auto machines, sim::explore::OpenNodes(trial, loop, 2));
  CO_ASSIGN_OR_RETURN(const auto from, machines[0]->Allocate(8 * 4096));
  CO_ASSIGN_OR_RETURN(const auto to, machines[1]->Allocate(8 * 4096));
  std::fill(from->bytes().begin(), from->bytes().end(), std::byte{42});
  fabric::async::ImmediateCounter arrived(machines[1]->dispatcher(), 7);
  CO_RETURN_IF_ERROR(co_await Copy(*machines[0], from, to->region().remote()));
  if (!co_await arrived.Reached(8, coro::After(loop.Now(), std::chrono::seconds(1)))) {
    co_return absl::DeadlineExceededError("not every page was announced");
  }
  if (!std::equal(from->bytes().begin(), from->bytes().end(), to->bytes().begin())) {
    co_return harness::WrongData("a page was announced before its bytes");
  }
  co_return absl::OkStatus();
}

}  // namespace
