// The sides of a transfer that this process plays: a client, and its server where both are here.

#ifndef DRYDOCK_APPS_WRITE_SIDES_H_
#define DRYDOCK_APPS_WRITE_SIDES_H_

#include <memory>

#include "absl/status/statusor.h"
#include "drydock/apps/write/client.h"
#include "drydock/apps/write/server.h"
#include "drydock/coro/task.h"
#include "drydock/fabric/async/node.h"

namespace drydock::apps::write {

// Dies before the nodes.
struct Sides {
  std::unique_ptr<Server> server;  // null: in another process
  std::unique_ptr<Client> client;
};

// A server for one transfer, and the client of it. Errors: those of Server::Open and Client::Open.
absl::StatusOr<Sides> OpenBoth(fabric::async::Node& server, ServerOptions server_options,
                               fabric::async::Node& client, const ClientOptions& client_options);

// The client's transfer. A server that is here serves beside it: it finishes, unless the client
// failed. Errors: those of Client::Run and Server::Run.
coro::Task<absl::StatusOr<TransferReport>> RunTransfer(Sides& sides);

}  // namespace drydock::apps::write

#endif  // DRYDOCK_APPS_WRITE_SIDES_H_
