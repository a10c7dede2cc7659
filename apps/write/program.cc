#include "drydock/apps/write/program.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "drydock/apps/common/command_line.h"
#include "drydock/apps/common/ranks/launched_ranks.h"
#include "drydock/apps/common/ranks/ranks.h"
#include "drydock/apps/common/report/output_flags.h"
#include "drydock/apps/common/session/session.h"
#include "drydock/apps/common/session/transfer_report.h"
#include "drydock/apps/common/units.h"
#include "drydock/apps/write/client.h"
#include "drydock/apps/write/server.h"
#include "drydock/apps/write/sides.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/async/node.h"

ABSL_FLAG(std::string, completion, "count",
          "Client: how it knows that all writes arrived. count: each announces itself. last: only "
          "the last one does, which is wrong on EFA, where writes are not ordered.");
ABSL_FLAG(drydock::apps::ByteSize, page_size, {1048576},
          "Client: bytes of a page; divides 16777216.");
ABSL_FLAG(std::uint64_t, num_pages, 8,
          "Client: pages to transfer into each of the two regions, at most 2037.");
ABSL_FLAG(std::uint64_t, data_seed, 0xb584035fabe6ce9b,
          "Client: seed of the random data, and of the pages that it goes to.");
ABSL_FLAG(std::uint64_t, clients, 0, "Server: ends after this many transfers; 0 means never.");
ABSL_FLAG(double, timeout, 10,
          "Seconds that a client waits for the next write, and a server for the end of one.");
ABSL_FLAG(bool, verbose, false,
          "Also print every region and every write, with its page, its bounds and its immediate.");

namespace drydock::apps::write {
namespace {

using fabric::async::Node;

struct Arguments {
  std::optional<fabric::Address> address;  // of a server elsewhere; absent: none given
  ClientOptions client;
  ServerOptions server;
};

absl::StatusOr<CompletionMode> Completion() {
  const std::string name = absl::GetFlag(FLAGS_completion);
  for (const CompletionMode mode : {CompletionMode::kCount, CompletionMode::kLast}) {
    if (name == NameOf(mode)) return mode;
  }
  return absl::InvalidArgumentError(absl::StrCat("--completion=", name, ": count or last"));
}

// Positional arguments: the server's address, and two that may be flags as well.
absl::StatusOr<Arguments> ParseArguments(const std::vector<std::string>& positional,
                                         const DataPlaces& places) {
  constexpr std::array kFlags = {"", "--page_size=", "--num_pages="};
  if (positional.size() > kFlags.size()) {
    return absl::InvalidArgumentError(absl::StrCat("too many arguments: ", positional[3]));
  }
  for (std::size_t i = 1; i < positional.size(); ++i) {
    RETURN_IF_ERROR(ParseFlags({absl::StrCat(kFlags[i], positional[i])}).status());
  }
  Arguments arguments;
  if (!positional.empty()) {
    ASSIGN_OR_RETURN(arguments.address, fabric::Address::Parse(positional[0]));
  }
  arguments.client.memory = places.client;
  arguments.client.page_bytes = absl::GetFlag(FLAGS_page_size).bytes;
  arguments.client.page_count = absl::GetFlag(FLAGS_num_pages);
  arguments.client.data_seed = absl::GetFlag(FLAGS_data_seed);
  ASSIGN_OR_RETURN(arguments.client.silence_timeout, ParseTimeout(absl::GetFlag(FLAGS_timeout)));
  ASSIGN_OR_RETURN(arguments.client.completion, Completion());
  RETURN_IF_ERROR(MakeRequest(arguments.client).status());
  arguments.server.memory = places.server;
  arguments.server.clients = absl::GetFlag(FLAGS_clients);
  arguments.server.write_timeout = arguments.client.silence_timeout;
  return arguments;
}

// Says what the client asks for, and begins to show how far that is.
void BeginTransfer(Console& console, const RandomFillMessage& request) {
  console.Say("request", Describe(request));
  console.Say("pages",
              absl::StrFormat("%s (a region of %s has %u)", DescribePages(request.page_indices),
                              FormatBytes(kRegionBytes), kRegionBytes / request.page_bytes));
  const bool count = request.completion == CompletionMode::kCount;
  console.BeginProgress({count ? "writes" : "announcements", ExpectedAnnouncements(request),
                         count ? request.page_bytes : 0});
}

// Serves clients of other processes; returns when it has served so many. `ranks`: null, or those
// that are its clients.
absl::StatusOr<int> Serve(Session& session, Arguments arguments, const DataPlaces& places,
                          Ranks* ranks) {
  ServerOptions& options = arguments.server;
  if (ranks != nullptr) {  // they come at once, or they have failed
    options.clients = ranks->size() - 1;
    options.patience = options.write_timeout;
  } else {
    RETURN_IF_ERROR(session.CheckServing(/*ends=*/options.clients > 0, "--clients=N"));
  }
  options.log = session.console().log();
  coro::EventLoop loop(session.clock());
  ASSIGN_OR_RETURN(const std::unique_ptr<Node> node, session.Open(loop, "server"));
  ASSIGN_OR_RETURN(const std::unique_ptr<Server> server, Server::Open(*node, options));
  session.SayScene(places.lines());
  Console& console = session.console();
  console.Say("memory", absl::StrFormat("%u regions of %s, 2 message buffers of %s", kRegionCount,
                                        FormatBytes(kRegionBytes), FormatBytes(kMessageBytes)));
  console.Say("address", node->address().ToHex());
  console.Say("waiting", absl::StrCat("for clients: ", session.program(),
                                      " --provider=... ADDRESS (end with Ctrl-C)"));
  if (ranks != nullptr) {
    RETURN_IF_ERROR(GatherText(*ranks, node->address().ToHex(), options.write_timeout).status());
  }
  RETURN_IF_ERROR(loop.Run(server->Run()));
  return kExitOk;
}

// A transfer from the server at arguments.address, or rank 0 of `ranks`, or else one beside it.
absl::StatusOr<int> Fetch(Session& session, Arguments arguments, const DataPlaces& places,
                          Ranks* ranks) {
  if (ranks != nullptr) {
    ASSIGN_OR_RETURN(const auto said, GatherText(*ranks, "", arguments.client.silence_timeout));
    ASSIGN_OR_RETURN(arguments.address, fabric::Address::Parse(said.front()));
  }
  Console& console = session.console();
  arguments.client.log = console.log();
  arguments.client.progress = [&](const Arrival& arrival) {
    console.ShowProgress(arrival.arrived, arrival.since_request);
  };
  coro::EventLoop loop(session.clock());
  std::unique_ptr<Node> server;
  if (!arguments.address.has_value()) {
    ASSIGN_OR_RETURN(server, session.Open(loop, "server"));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<Node> client, session.Open(loop, "client"));
  Sides sides;
  if (server != nullptr) {
    arguments.server.log = console.log();
    ASSIGN_OR_RETURN(sides, OpenBoth(*server, arguments.server, *client, arguments.client));
    arguments.address = server->address();
  } else {
    arguments.client.session = std::random_device()() | std::uint64_t{std::random_device()()} << 32;
    ASSIGN_OR_RETURN(sides.client, Client::Open(*client, arguments.client, *arguments.address));
  }
  session.SayScene(places.lines());
  console.Say("server", arguments.address->ToHex());
  BeginTransfer(console, sides.client->request());
  const absl::StatusOr<TransferReport> report = loop.Run(RunTransfer(sides));
  console.EndProgress();
  RETURN_IF_ERROR(report.status());
  session.EndRun();
  return Report(console, *report, session.scene());
}

absl::StatusOr<int> RunSession(Session& session, const Arguments& arguments,
                               const DataPlaces& places) {
  ASSIGN_OR_RETURN(const Roles roles, session.RolesFor(arguments.address.has_value()));
  const std::optional<Launch> launch = FindLaunch();
  if (roles.client || launch.has_value()) {
    RETURN_IF_ERROR(RefuseFlags({"clients"}, "is for a server whose clients are started by hand"));
  }
  if (roles.client) return Fetch(session, arguments, places, nullptr);
  if (launch.has_value()) {  // all ranks are clients of rank 0
    RETURN_IF_ERROR(CheckOneTable(launch->size - 1, "clients"));
    ASSIGN_OR_RETURN(const std::unique_ptr<Ranks> ranks, JoinLaunch(*launch));
    const auto play = ranks->rank() == 0 ? Serve : Fetch;
    const absl::StatusOr<int> result = play(session, arguments, places, ranks.get());
    return result.ok() ? result : GiveUp(*ranks, result.status(), arguments.client.silence_timeout);
  }
  RETURN_IF_ERROR(RefuseFlags({"completion", "data-seed", "num-pages", "page-size"},
                              "is for a client: give its server's address, or --fabric=sim"));
  return Serve(session, arguments, places, nullptr);
}

}  // namespace

int RunProgram(const std::string& name, const std::vector<std::string>& positional,
               const DataPlaces& places) {
  const absl::StatusOr<Arguments> arguments = ParseArguments(positional, places);
  if (!arguments.ok()) return ReportError(name, arguments.status());
  const auto session = Session::FromFlags(
      {.program = name, .verbose = absl::GetFlag(FLAGS_verbose), .devices = places.devices});
  if (!session.ok()) return ReportError(name, session.status());
  const absl::StatusOr<int> result = RunSession(**session, *arguments, places);
  return (*session)->Finish(result.ok() ? *result : ReportError(name, result.status()));
}

}  // namespace drydock::apps::write
