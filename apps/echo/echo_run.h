// The whole program in one loop: servers and clients of both kinds, and the signal that ends them.

#ifndef DRYDOCK_APPS_ECHO_ECHO_RUN_H_
#define DRYDOCK_APPS_ECHO_ECHO_RUN_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "drydock/apps/common/metrics_run.h"
#include "drydock/apps/common/trace_flags.h"
#include "drydock/apps/echo/messages.h"
#include "drydock/coro/tcp.h"

namespace drydock::apps::echo {

struct RunOptions {
  EchoOptions echo;
  // At least one of the two. RDMA needs server and client in this process: neither `listen` nor
  // `connect` then.
  bool tcp = true;
  bool rdma = true;
  // At most one of the two; with none, server and client are both here.
  std::optional<coro::TcpAddress> listen;   // a TCP server only
  std::optional<coro::TcpAddress> connect;  // a TCP client only
  std::uint64_t clients = 0;                // of `listen`: ends after this number; 0: never
  MetricsRun* metrics = nullptr;            // null: the NICs' counters are not read
};

// What clients have seen; no round trips: there was no such client.
struct EchoReports {
  EchoReport tcp;
  EchoReport rdma;
};

// Opens everything, runs it to its end, and tells `log` what happens; `trace` observes RDMA. OK:
// every message came back; a server that was interrupted has done its work too. kCancelled:
// interrupted (SIGINT or SIGTERM) before that; what had come back by then is in the log. Otherwise
// what went wrong.
absl::Status Run(const RunOptions& options, const Log& log, const TraceRun& trace,
                 EchoReports& reports);

}  // namespace drydock::apps::echo

#endif  // DRYDOCK_APPS_ECHO_ECHO_RUN_H_
