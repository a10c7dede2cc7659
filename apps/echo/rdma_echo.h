// Echo over RDMA: two simulated machines, a NIC each, and messages by send and receive.

#ifndef DRYDOCK_APPS_ECHO_RDMA_ECHO_H_
#define DRYDOCK_APPS_ECHO_RDMA_ECHO_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/apps/common/trace_flags.h"
#include "drydock/apps/echo/messages.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/task.h"
#include "drydock/fabric/address.h"
#include "drydock/fabric/async/node.h"
#include "drydock/fabric/async/registered_buffer.h"
#include "drydock/fabric/fabric.h"
#include "drydock/sim/world/world.h"

namespace drydock::apps::echo {

// Not thread-safe. Dies before its loop and world, and after the tasks.
class RdmaEcho {
 public:
  // Opens the NICs of two new machines in `world`, for messages of options.message_bytes.
  // kInvalidArgument: the NIC takes no message of that size.
  // `trace` outlives it.
  static absl::StatusOr<std::unique_ptr<RdmaEcho>> Open(coro::EventLoop& loop, sim::World& world,
                                                        const EchoOptions& options,
                                                        const TraceRun& trace);

  const fabric::NicInfo& nic() const { return server_.node->nic(); }
  fabric::Address server_address() const { return server_.node->endpoint().address(); }

  // Sends options.count messages back to the client. Errors: those of the NIC.
  coro::Task<absl::Status> RunServer();

  // Sends message after message, one at a time, and checks what comes back. `report` is kept up to
  // date, and outlives the task. Errors: those of the NIC, kDeadlineExceeded, kDataLoss.
  coro::Task<absl::Status> RunClient(EchoReport& report);

 private:
  // Members die in reverse order: the node before its fabric.
  struct Machine {
    std::unique_ptr<fabric::Fabric> fabric;
    std::unique_ptr<fabric::async::Node> node;
    fabric::async::BufferRef outgoing;  // one message
    fabric::async::BufferRef incoming;  // the receives that stay posted
    fabric::Peer peer{};
  };

  explicit RdmaEcho(const EchoOptions& options) : options_(options) {}
  absl::Status OpenMachine(coro::EventLoop& loop, sim::World& world, const char* name,
                           const TraceRun& trace, Machine& machine);

  const EchoOptions options_;
  Machine server_;
  Machine client_;
};

}  // namespace drydock::apps::echo

#endif  // DRYDOCK_APPS_ECHO_RDMA_ECHO_H_
