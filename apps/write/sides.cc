#include "drydock/apps/write/sides.h"

#include "drydock/coro/scope.h"
#include "drydock/coro/status_macros.h"

namespace drydock::apps::write {

absl::StatusOr<Sides> OpenBoth(fabric::async::Node& server, ServerOptions server_options,
                               fabric::async::Node& client, const ClientOptions& client_options) {
  server_options.clients = 1;
  server_options.count_failed = true;
  Sides sides;
  ASSIGN_OR_RETURN(sides.server, Server::Open(server, server_options));
  ASSIGN_OR_RETURN(sides.client, Client::Open(client, client_options, server.address()));
  return sides;
}

coro::Task<absl::StatusOr<TransferReport>> RunTransfer(Sides& sides) {
  coro::Scope background;
  if (sides.server != nullptr) background.Spawn(sides.server->Run());
  CO_ASSIGN_OR_RETURN(TransferReport report, co_await sides.client->Run());
  if (report.verification.correct()) {
    CO_RETURN_IF_ERROR(co_await background.Join());
  }
  co_return report;
}

}  // namespace drydock::apps::write
