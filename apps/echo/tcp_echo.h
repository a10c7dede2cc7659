// Echo over TCP: the server sends back whatever comes, to many peers at once; the client sends
// messages and looks whether they come back. Any other client will do: nc, telnet.

#ifndef DRYDOCK_APPS_ECHO_TCP_ECHO_H_
#define DRYDOCK_APPS_ECHO_TCP_ECHO_H_

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "drydock/apps/echo/messages.h"
#include "drydock/coro/descriptor.h"
#include "drydock/coro/scope.h"
#include "drydock/coro/task.h"
#include "drydock/coro/tcp.h"
#include "drydock/coro/time.h"
#include "drydock/coro/wait_list.h"

namespace drydock::apps::echo {

struct TcpServerOptions {
  std::uint64_t clients = 0;  // ends after this number of sessions; 0: never
  // Peers that are served at once; further ones wait to be accepted. Well below the usual limit of
  // open descriptors.
  std::uint64_t sessions = 500;
  // How long a peer may leave the echo unread.
  coro::Duration timeout = std::chrono::seconds(10);
};

// Not thread-safe, not movable. The listener and whatever the log refers to outlive it.
class TcpServer {
 public:
  TcpServer(const coro::Descriptor& listener, const TcpServerOptions& options, Log log)
      : listener_(listener), options_(options), log_(std::move(log)) {}

  // Serves. A peer that fails costs the others nothing: its session is a line of the log. Errors:
  // those of coro::Accept.
  coro::Task<absl::Status> Run();

 private:
  coro::Task<absl::Status> Serve(coro::Descriptor peer, std::uint64_t session);
  coro::Task<absl::Status> EchoAll(const coro::Descriptor& peer, std::uint64_t& echoed_bytes);

  const coro::Descriptor& listener_;
  const TcpServerOptions options_;
  const Log log_;
  coro::WaitList session_ended_;
  coro::Scope sessions_;  // last: its tasks use the rest
};

// Sends message after message to the server at `to`, one at a time, and checks what comes back.
// `report` is kept up to date in case the task is interrupted, and outlives it. Errors: those of
// coro::Connect, Read and WriteAll; kDataLoss: something else came back.
coro::Task<absl::Status> RunTcpClient(coro::EpollSelector& io, coro::TcpAddress to,
                                      EchoOptions options, EchoReport& report);

}  // namespace drydock::apps::echo

#endif  // DRYDOCK_APPS_ECHO_TCP_ECHO_H_
