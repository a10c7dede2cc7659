#include "drydock/testing/tutorial/picture.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "drydock/coro/event_loop.h"
#include "drydock/coro/scope.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/async/immediate_counter.h"
#include "drydock/fabric/async/node.h"
#include "drydock/fabric/async/registered_buffer.h"
#include "drydock/sim/explore/nodes.h"
#include "drydock/testing/harness/body_scenario.h"

namespace drydock::tutorial {
namespace {

using fabric::RemoteBuffer;
using fabric::async::BufferRef;
using fabric::async::BufferSlice;
using fabric::async::ImmediateCounter;
using fabric::async::Node;
using fabric::async::OperationOptions;
using sim::explore::OpenNodes;

constexpr std::size_t kPage = 4096, kPages = 16;
constexpr std::uint32_t kArrived = 7;

coro::Task<absl::Status> WritePage(Node& from, BufferSlice page, RemoteBuffer to,
                                   coro::Time deadline) {
  OperationOptions options;
  options.immediate = kArrived;
  options.deadline = deadline;
  const auto done = co_await from.endpoint().Write(page, to, from.peer(1), options);
  co_return from.endpoint().ToStatus(done, "write page");
}

coro::Task<absl::Status> Send(Node& from, BufferRef picture, RemoteBuffer to, coro::Time deadline) {
  coro::Scope writes;
  for (std::size_t page = 0; page < kPages; ++page, to.address += kPage) {
    writes.Spawn(WritePage(from, BufferSlice(picture, page * kPage, kPage), to, deadline));
  }
  co_return co_await writes.Join();
}

}  // namespace

// The tutorial shows what follows, to the end of the function; tutorial_test compares them.

coro::Task<absl::Status> TransferPicture(sim::explore::Trial& trial, coro::Duration patience) {
  coro::EventLoop& loop = coro::EventLoop::Current();
  const coro::Time deadline =
      patience == kForEver ? coro::kNever : coro::After(loop.Now(), patience);
  CO_ASSIGN_OR_RETURN(auto machines, OpenNodes(trial, loop, 2));
  CO_ASSIGN_OR_RETURN(const BufferRef picture, machines[0]->Allocate(kPages * kPage));
  CO_ASSIGN_OR_RETURN(const BufferRef frame, machines[1]->Allocate(kPages * kPage));
  std::fill(picture->bytes().begin(), picture->bytes().end(), std::byte{42});
  ImmediateCounter arrived(machines[1]->dispatcher(), kArrived);
  coro::Scope sender;
  sender.Spawn(Send(*machines[0], picture, frame->region().remote(), deadline));
  const bool in_time = co_await arrived.Reached(kPages, deadline);
  const bool whole =
      std::equal(picture->bytes().begin(), picture->bytes().end(), frame->bytes().begin());
  CO_RETURN_IF_ERROR(co_await sender.Join());
  if (!in_time) co_return absl::DeadlineExceededError("not all pages were announced");
  if (!whole) co_return harness::WrongData("pages were missing");
  co_return absl::OkStatus();
}

}  // namespace drydock::tutorial
