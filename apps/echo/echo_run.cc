#include "drydock/apps/echo/echo_run.h"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/apps/common/progress.h"
#include "drydock/apps/echo/rdma_echo.h"
#include "drydock/apps/echo/tcp_echo.h"
#include "drydock/coro/descriptor.h"
#include "drydock/coro/epoll_selector.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/scope.h"
#include "drydock/coro/signals.h"
#include "drydock/coro/sleep.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/steady_clock.h"
#include "drydock/coro/task.h"
#include "drydock/coro/time.h"
#include "drydock/coro/wait_list.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/tracing/world_trace.h"
#include "drydock/sim/world/world.h"

namespace drydock::apps::echo {
namespace {

constexpr const char* kProfile = "small";
constexpr coro::Duration kRedraw = std::chrono::milliseconds(100);

// Of all clients.
std::uint64_t TripsOf(const RunOptions& options) {
  return options.echo.count * (options.tcp && options.rdma ? 2 : 1);
}

// Members die in reverse order: whatever a task uses is declared before it, the loop first.
class EchoRun {
 public:
  // The world is the clock as well. It is a live one: its clock is the machine's, as TCP needs it.
  EchoRun(const RunOptions& options, const Log& log, EchoReports& reports, const TraceRun& trace,
          const sim::Profile& profile)
      : options_(options),
        log_([this, &log](absl::string_view label, absl::string_view text) {
          progress_.Hide();
          log(label, text);
        }),
        reports_(reports),
        trace_(trace),
        progress_({.what = "round trips", .total = TripsOf(options)}, clock_),
        world_(/*seed=*/1, profile, sim::kAsFastAsItGoes),
        devices_(trace.Watch(world_, nullptr)),
        loop_(world_) {}

  absl::Status Run() {
    const MetricsAtEnd metrics(options_.metrics, world_);
    RETURN_IF_ERROR(Open());
    const absl::Status status = loop_.Run(Main());
    progress_.Hide();
    if (tcp_client()) log_("tcp", Describe(reports_.tcp, options_.echo));
    if (options_.rdma) {
      log_("rdma", absl::StrCat(Describe(reports_.rdma, options_.echo),
                                " (simulated NIC: the speed of the simulator, not of EFA)"));
    }
    return status;
  }

 private:
  bool tcp_server() const { return options_.tcp && !options_.connect.has_value(); }
  bool tcp_client() const { return options_.tcp && !options_.listen.has_value(); }

  // Sockets, NICs, signals: what can fail before anything runs.
  absl::Status Open() {
    ASSIGN_OR_RETURN(io_, coro::EpollSelector::Open(loop_));
    ASSIGN_OR_RETURN(signals_, coro::Signals::Open(*io_, {SIGINT, SIGTERM}));
    log_("loop", absl::StrCat("one thread, one loop: epoll",
                              options_.rdma ? " and the completion queues of 2 NICs" : ""));
    if (options_.rdma) {
      ASSIGN_OR_RETURN(rdma_, RdmaEcho::Open(loop_, world_, options_.echo, trace_));
      log_("rdma", absl::StrCat("server ", rdma_->server_address().ToHex(), " on simulated NIC ",
                                rdma_->nic().name));
    }
    server_address_ = options_.connect;
    if (tcp_server()) {
      const coro::TcpAddress at = options_.listen.value_or(coro::TcpAddress::Loopback(0));
      ASSIGN_OR_RETURN(listener_, coro::Listen(*io_, at));
      ASSIGN_OR_RETURN(server_address_, coro::LocalAddress(listener_));
      log_("tcp", absl::StrCat("server ", server_address_->ToString()));
      if (options_.listen.has_value()) log_("waiting", "for clients; interrupt (^C) to end");
    }
    return absl::OkStatus();
  }

  // Runs the parts side by side, until all have ended, or one has failed, or a signal comes. What
  // still runs then goes with its scope.
  coro::Task<absl::Status> Main() {
    coro::Scope background;
    background.Spawn(AwaitSignal());
    if (!options_.listen.has_value() && isatty(STDERR_FILENO) == 1) {
      background.Spawn(ShowProgress());
    }
    TcpServerOptions server_options;
    server_options.clients = options_.listen.has_value() ? options_.clients : 1;
    server_options.timeout = options_.echo.timeout;
    TcpServer server(listener_, server_options, log_);
    coro::Scope parts;  // dies before the server that it runs
    if (tcp_server()) parts.Spawn(Part(server.Run()));
    if (tcp_client()) {
      parts.Spawn(Part(RunTcpClient(*io_, *server_address_, options_.echo, reports_.tcp)));
    }
    if (options_.rdma) {
      parts.Spawn(Part(rdma_->RunServer()));
      parts.Spawn(Part(rdma_->RunClient(reports_.rdma)));
    }
    while (!failed_ && !interrupted_ && parts.running() > 0) co_await changed_.Wait();
    if (interrupted_) {
      log_("signal", "interrupted");
      co_return options_.listen.has_value() ? absl::OkStatus()
                                            : absl::CancelledError("interrupted");
    }
    co_return result_;
  }

  coro::Task<absl::Status> Part(coro::Task<absl::Status> part) {
    const absl::Status status = co_await std::move(part);
    changed_.NotifyAll();
    if (status.ok() || failed_) co_return status;
    failed_ = true;
    result_ = status;
    co_return absl::OkStatus();  // Main has it
  }

  // For a person at a terminal.
  coro::Task<absl::Status> ShowProgress() {
    for (;;) {
      co_await coro::Sleep(kRedraw);
      progress_.Update(reports_.tcp.round_trips + reports_.rdma.round_trips);
    }
  }

  coro::Task<absl::Status> AwaitSignal() {
    CO_RETURN_IF_ERROR((co_await signals_->Next()).status());
    interrupted_ = true;
    changed_.NotifyAll();
    co_return absl::OkStatus();
  }

  const RunOptions& options_;
  const Log log_;
  EchoReports& reports_;
  const TraceRun& trace_;
  coro::SteadyClock clock_;
  Progress progress_;
  sim::World world_;
  const std::unique_ptr<sim::WorldTrace> devices_;
  coro::EventLoop loop_;
  std::unique_ptr<coro::EpollSelector> io_;
  std::unique_ptr<coro::Signals> signals_;
  std::unique_ptr<RdmaEcho> rdma_;
  coro::Descriptor listener_;
  std::optional<coro::TcpAddress> server_address_;
  coro::WaitList changed_;
  bool interrupted_ = false;
  bool failed_ = false;
  absl::Status result_;
};

}  // namespace

absl::Status Run(const RunOptions& options, const Log& log, const TraceRun& trace,
                 EchoReports& reports) {
  ASSIGN_OR_RETURN(const sim::Profile* profile, sim::FindProfile(kProfile));
  return EchoRun(options, log, reports, trace, *profile).Run();
}

}  // namespace drydock::apps::echo
