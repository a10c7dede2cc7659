#include "drydock/apps/echo/rdma_echo.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "absl/strings/str_cat.h"
#include "drydock/apps/common/nic_choice.h"
#include "drydock/apps/common/simulated_fabric.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/async/message_receiver.h"
#include "drydock/fabric/capability.h"
#include "drydock/sim/driver/sim_fabric.h"

namespace drydock::apps::echo {
namespace {

using fabric::async::AsyncEndpoint;
using fabric::async::BufferSlice;
using fabric::async::Message;
using fabric::async::MessageReceiver;

// Receives that stay posted: a message that finds none makes its sender try again.
constexpr std::size_t kWindow = 4;

}  // namespace

absl::StatusOr<std::unique_ptr<RdmaEcho>> RdmaEcho::Open(coro::EventLoop& loop, sim::World& world,
                                                         const EchoOptions& options,
                                                         const TraceRun& trace) {
  std::unique_ptr<RdmaEcho> echo(new RdmaEcho(options));
  RETURN_IF_ERROR(echo->OpenMachine(loop, world, "server", trace, echo->server_));
  RETURN_IF_ERROR(echo->OpenMachine(loop, world, "client", trace, echo->client_));
  Machine& server = echo->server_;
  Machine& client = echo->client_;
  ASSIGN_OR_RETURN(server.peer, server.node->peers().Insert(client.node->endpoint().address()));
  ASSIGN_OR_RETURN(client.peer, client.node->peers().Insert(server.node->endpoint().address()));
  return echo;
}

absl::Status RdmaEcho::OpenMachine(coro::EventLoop& loop, sim::World& world, const char* name,
                                   const TraceRun& trace, Machine& machine) {
  machine.fabric = trace.Wrap(sim::OpenSimFabric(world, world.AddNode(name)), name, world,
                              SimulatedFabric::kEfaDirect);
  ASSIGN_OR_RETURN(machine.node, fabric::async::Node::Open(loop, *machine.fabric, 0));
  RETURN_IF_ERROR(
      RequireCapabilities(machine.node->nic(), std::array{fabric::Capability::kMessages}));
  const std::uint64_t most = machine.node->nic().limits.max_message_bytes;
  if (options_.message_bytes > most) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a message of ", options_.message_bytes, " bytes: NIC ", machine.node->nic().name,
        " sends at most ", most, " at once; TCP alone (--tcp) takes more"));
  }
  ASSIGN_OR_RETURN(machine.outgoing, machine.node->Allocate(options_.message_bytes));
  ASSIGN_OR_RETURN(machine.incoming, machine.node->Allocate(kWindow * options_.message_bytes));
  return absl::OkStatus();
}

coro::Task<absl::Status> RdmaEcho::RunServer() {
  AsyncEndpoint& endpoint = server_.node->endpoint();
  MessageReceiver requests(endpoint, server_.incoming, kWindow, options_.message_bytes, kWindow);
  for (std::uint64_t number = 0; number < options_.count; ++number) {
    CO_ASSIGN_OR_RETURN(const Message request, co_await requests.Next());
    std::copy(request.bytes.begin(), request.bytes.end(), server_.outgoing->bytes().begin());
    const BufferSlice reply(server_.outgoing, 0, request.bytes.size());
    const fabric::Completion sent = co_await endpoint.Send(reply, server_.peer);
    CO_RETURN_IF_ERROR(endpoint.ToStatus(sent, "send a message back"));
  }
  co_return absl::OkStatus();
}

coro::Task<absl::Status> RdmaEcho::RunClient(EchoReport& report) {
  coro::EventLoop& loop = client_.node->loop();
  AsyncEndpoint& endpoint = client_.node->endpoint();
  MessageReceiver replies(endpoint, client_.incoming, kWindow, options_.message_bytes, kWindow);
  const BufferSlice message(client_.outgoing);
  for (std::uint64_t number = 0; number < options_.count; ++number) {
    FillMessage(number, message.bytes());
    const coro::Time deadline = coro::After(loop.Now(), options_.timeout);
    const coro::Time start = loop.clock().Now();
    const fabric::Completion sent =
        co_await endpoint.Send(message, client_.peer, {.deadline = deadline});
    CO_RETURN_IF_ERROR(endpoint.ToStatus(sent, "send a message"));
    CO_ASSIGN_OR_RETURN(const Message reply, co_await replies.Next(deadline));
    const coro::Duration round_trip = loop.clock().Now() - start;
    CO_RETURN_IF_ERROR(CheckMessage(number, reply.bytes, options_.message_bytes));
    report.Add(round_trip);
  }
  co_return absl::OkStatus();
}

}  // namespace drydock::apps::echo
