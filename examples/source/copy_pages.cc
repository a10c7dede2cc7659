// The same copy without the simulator, on a provider of libfabric: tcp and shm anywhere, efa and
// efa-direct on an EC2 instance or under efa-run.
//
//   copy_pages [PROVIDER]     tcp unless named; exit status 1 and one line when it fails

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <iostream>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "copy.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/steady_clock.h"
#include "drydock/fabric/async/immediate_counter.h"
#include "drydock/fabric/libfabric/libfabric_fabric.h"

namespace coro = drydock::coro;
namespace fabric = drydock::fabric;

using fabric::async::Node;

namespace {

coro::Task<absl::Status> CopyOver(const std::string& provider) {
  coro::EventLoop& loop = coro::EventLoop::Current();
  CO_ASSIGN_OR_RETURN(const auto nic, fabric::libfabric::OpenLibfabric(provider));
  std::array<std::unique_ptr<Node>, 2> nodes;
  for (auto& node : nodes) {
    CO_ASSIGN_OR_RETURN(node, Node::Open(loop, *nic));
  }
  CO_RETURN_IF_ERROR(fabric::async::Introduce(nodes));
  CO_ASSIGN_OR_RETURN(const auto from, nodes[0]->Allocate(8 * 4096));
  CO_ASSIGN_OR_RETURN(const auto to, nodes[1]->Allocate(8 * 4096));
  std::fill(from->bytes().begin(), from->bytes().end(), std::byte{42});
  fabric::async::ImmediateCounter arrived(nodes[1]->dispatcher(), 7);
  CO_RETURN_IF_ERROR(co_await Copy(*nodes[0], from, to->region().remote()));
  if (!co_await arrived.Reached(8, coro::After(loop.Now(), std::chrono::seconds(10)))) {
    co_return absl::DeadlineExceededError("not every page was announced");
  }
  if (!std::equal(from->bytes().begin(), from->bytes().end(), to->bytes().begin())) {
    co_return absl::DataLossError("a page was announced before its bytes");
  }
  co_return absl::OkStatus();
}

}  // namespace

int main(int count, char** words) {
  const std::string provider = count > 1 ? words[1] : "tcp";
  coro::SteadyClock clock;
  coro::EventLoop loop(clock);
  const absl::Status status = loop.Run(CopyOver(provider));
  if (!status.ok()) {
    std::cerr << "copy_pages: " << status << "\n";
    return 1;
  }
  std::cout << "8 pages copied over " << provider << "\n";
  return 0;
}
