// The echo program: see README.md in this folder.

#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "drydock/apps/common/command_line.h"
#include "drydock/apps/common/metrics_flags.h"
#include "drydock/apps/common/report/output_flags.h"
#include "drydock/apps/common/report/result_table.h"
#include "drydock/apps/common/trace_flags.h"
#include "drydock/apps/common/units.h"
#include "drydock/apps/echo/echo_run.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/tcp.h"

ABSL_FLAG(bool, tcp, false, "Only over TCP.");
ABSL_FLAG(bool, rdma, false, "Only over RDMA, between two simulated machines in this process.");
ABSL_FLAG(drydock::apps::ByteSize, message_size, {64},
          "Bytes of a message, 1 to 16777216; over RDMA at most what the NIC sends at once, which "
          "is less than 9000.");
ABSL_FLAG(std::uint64_t, count, 1000, "Round trips, one after the other.");
ABSL_FLAG(std::string, listen, "",
          "PORT or HOST:PORT: a TCP server for other processes. A port alone is reached from this "
          "machine only; 0 takes a free port and prints it.");
ABSL_FLAG(std::string, connect, "", "HOST:PORT: a TCP client of a server in another process.");
ABSL_FLAG(std::uint64_t, clients, 0,
          "With --listen: the number of clients after which it ends; 0 means never.");
ABSL_FLAG(double, timeout, 10,
          "Seconds that a client waits for its message to come back, and a server for a client to "
          "take it.");

namespace drydock::apps::echo {
namespace {

const Usage kUsage = {
    "echo",
    "servers that send back what comes, and clients that look whether it does: over TCP, and over "
    "RDMA between simulated NICs, all in one event loop of one thread.",
    "[--tcp | --rdma] [--message-size=N] [--count=N]    servers and clients in one process\n"
    "--listen=PORT [--clients=N]                        a TCP server\n"
    "--connect=HOST:PORT [--message-size=N]             a TCP client of it",
    "  echo                                    both kinds side by side, 1000 round trips each\n"
    "  echo --tcp --message-size=1048576       1 MiB at a time, more than a socket takes at once\n"
    "  echo --rdma --message-size=8192         a message of a NIC is one packet: see its limit\n"
    "  echo --listen=0                         a server; prints its address, and ends on ^C\n"
    "  echo --connect=127.0.0.1:40123          its client, in another terminal\n"
    "  nc 127.0.0.1 40123                      another one: what you type comes back\n"
    "\nExit status: 0 everything came back, 1 it did not or the client was interrupted, 2 bad "
    "input."};

absl::Status BadInput(const std::string& why) { return absl::InvalidArgumentError(why); }

absl::StatusOr<EchoOptions> ParseEchoOptions() {
  EchoOptions options;
  options.message_bytes = absl::GetFlag(FLAGS_message_size).bytes;
  options.count = absl::GetFlag(FLAGS_count);
  if (options.message_bytes == 0 || options.message_bytes > kMostMessageBytes) {
    return BadInput(absl::StrCat("--message-size=", options.message_bytes, " is not between 1 and ",
                                 kMostMessageBytes, " bytes"));
  }
  if (options.count == 0) return BadInput("--count=0 asks for nothing");
  ASSIGN_OR_RETURN(options.timeout, ParseTimeout(absl::GetFlag(FLAGS_timeout)));
  return options;
}

absl::StatusOr<RunOptions> ParseArguments(const std::vector<std::string>& positional) {
  if (!positional.empty()) {
    return BadInput(absl::StrCat("unexpected argument '", positional.front(), "'"));
  }
  RunOptions options;
  ASSIGN_OR_RETURN(options.echo, ParseEchoOptions());
  std::string listen = absl::GetFlag(FLAGS_listen);
  const std::string connect = absl::GetFlag(FLAGS_connect);
  const bool tcp = absl::GetFlag(FLAGS_tcp);
  const bool rdma = absl::GetFlag(FLAGS_rdma);
  if (!listen.empty() && !connect.empty()) {
    return BadInput("--listen is a server and --connect a client: one process is one of them");
  }
  const bool alone = !listen.empty() || !connect.empty();
  if (alone && rdma) {
    return BadInput("--rdma has server and client in one process: not with --listen or --connect");
  }
  options.tcp = tcp || !rdma;
  options.rdma = !alone && (rdma || !tcp);
  options.clients = absl::GetFlag(FLAGS_clients);
  if (options.clients > 0 && listen.empty()) return BadInput("--clients goes with --listen");
  if (!listen.empty()) {
    RETURN_IF_ERROR(RefuseFlags({"count", "message-size"}, "is a client's: not with --listen"));
    if (listen.find(':') == std::string::npos) listen = absl::StrCat("127.0.0.1:", listen);
    ASSIGN_OR_RETURN(options.listen, coro::TcpAddress::Resolve(listen));
  }
  if (!connect.empty()) {
    ASSIGN_OR_RETURN(options.connect, coro::TcpAddress::Resolve(connect));
  }
  return options;
}

// A row for each kind of client that got an answer.
ResultTable TableOf(const EchoReports& reports, const EchoOptions& options) {
  ResultTable table("echo", Origin::kMeasured,
                    {{"kind"},
                     {"simulated"},
                     {"message", "message_bytes", "B"},
                     {"round trips", "round_trips"},
                     {"in all", "total_ns", "ns"},
                     {"each", "mean_ns", "ns"},
                     {"at best", "fastest_ns", "ns"}});
  for (const auto& [kind, report] :
       {std::pair("tcp", &reports.tcp), std::pair("rdma", &reports.rdma)}) {
    if (report->round_trips == 0) continue;
    table.AddRow({TextCell(kind), YesCell(report == &reports.rdma),
                  BytesCell(options.message_bytes), CountCell(report->round_trips),
                  DurationCell(report->total),
                  DurationCell(report->total / static_cast<std::int64_t>(report->round_trips)),
                  DurationCell(report->fastest)});
  }
  return table;
}

int Main(int argc, char** argv) {
  absl::StatusOr<RunOptions> options = ParseArguments(ParseCommandLineOrExit(argc, argv, kUsage));
  if (!options.ok()) return ReportError(kUsage.name, options.status());
  const absl::StatusOr<std::unique_ptr<MetricsRun>> metrics = MetricsFromFlags();
  if (!metrics.ok()) return ReportError(kUsage.name, metrics.status());
  options->metrics = metrics->get();
  const absl::StatusOr<OutputForm> form = OutputFormFromFlags();
  if (!form.ok()) return ReportError(kUsage.name, form.status());
  const bool text_only = *form == OutputForm::kText;
  if (!text_only && options->listen.has_value()) {
    return ReportError(kUsage.name, BadInput("--json and --csv are for a client's result"));
  }
  // Flushed line by line: a script waits for the address.
  const Log log = [text_only](absl::string_view label, absl::string_view text) {
    if (text_only) std::cout << absl::StrFormat("%-9s %s", label, text) << std::endl;
  };
  // In real time: without --trace nothing observes, not even the flight recorder.
  const auto trace = TraceRun::FromFlags(kUsage.name, /*simulated=*/false, /*seed=*/1);
  if (!trace.ok()) return ReportError(kUsage.name, trace.status());
  EchoReports reports;
  absl::Status status = Run(*options, log, **trace, reports);
  const absl::Status traced = (*trace)->Finish(status);
  if (status.ok()) status = traced;
  const int exit_code = status.ok() ? kExitOk : ReportError(kUsage.name, status);
  if (!text_only) {
    const ResultTable table = TableOf(reports, options->echo);
    std::cout << (*form == OutputForm::kJson ? ToJson(table) : ToCsv(table));
  } else if (status.ok() && !options->listen.has_value()) {
    std::cout << "Every byte came back" << std::endl;
  }
  return DeliverMetrics(kUsage.name, metrics->get(), !text_only, exit_code);
}

}  // namespace
}  // namespace drydock::apps::echo

int main(int argc, char** argv) { return drydock::apps::echo::Main(argc, argv); }
