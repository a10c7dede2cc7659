// The write program: see README.md in this folder.

#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "apps/common/backend_choice.h"
#include "apps/common/command_line.h"
#include "apps/common/network.h"
#include "apps/common/progress.h"
#include "apps/common/units.h"
#include "apps/write/client.h"
#include "apps/write/server.h"
#include "apps/write/simulated_run.h"
#include "coro/event_loop.h"
#include "coro/status_macros.h"
#include "coro/steady_clock.h"
#include "nlohmann/json.hpp"

ABSL_FLAG(std::string, completion, "count",
          "How the client knows that all writes arrived: count (every write announces itself, the "
          "client counts) or last "
          "(only the last one does: wrong on EFA, where writes are not ordered).");
ABSL_FLAG(std::uint64_t, page_size, 1048576, "Bytes of a page; divides 16777216.");
ABSL_FLAG(std::uint64_t, num_pages, 8, "Pages to transfer into each of the two regions.");
ABSL_FLAG(std::uint64_t, data_seed, 0xb584035fabe6ce9b,
          "Seed of the random data that is transferred.");
ABSL_FLAG(std::uint64_t, clients, 0, "A server ends after this many transfers; 0 means never.");
ABSL_FLAG(double, timeout, 10,
          "Seconds without any sign of life after which the other side is given up.");
ABSL_FLAG(bool, json, false,
          "Print the client's result as one JSON object on standard output, and nothing else.");

namespace apps::write {
namespace {

const Usage kUsage = {
    "write",
    "a server makes random data and writes it into a client's memory; the client checks every "
    "byte.",
    "\n--provider=NAME\n--provider=NAME SERVER_ADDRESS [PAGE_SIZE NUM_PAGES]",
    "  write                                 both sides in one process, on the simulated NIC\n"
    "  write --completion=last --seed=1      the protocol that trusts the last write, and is "
    "wrong\n"
    "  write --provider=tcp                  a server on this machine's network: prints its "
    "address\n"
    "  write --provider=tcp 0200...          a client of it\n"
    "\nExit status: 0 data correct, 1 data wrong or transfer failed, 2 bad input."};

void Say(absl::string_view line) {
  if (absl::GetFlag(FLAGS_json)) return;
  std::cout << std::string(line) << std::endl;  // flushed: a script waits for the address
}

void Log(absl::string_view line, bool bad) {
  if (bad) {
    std::cerr << "write: " << std::string(line) << std::endl;
  } else {
    Say(line);
  }
}

// The positional arguments, and the flags that they stand for.
struct Arguments {
  std::string server;  // empty: none given
  ClientOptions client;
};

absl::StatusOr<std::uint64_t> ParseNumber(const std::string& text, absl::string_view what) {
  std::uint64_t number = 0;
  if (absl::SimpleAtoi(text, &number)) return number;
  return absl::InvalidArgumentError(absl::StrCat(what, " '", text, "' is not a number"));
}

absl::StatusOr<coro::Duration> Timeout() {
  const double seconds = absl::GetFlag(FLAGS_timeout);
  if (!(seconds > 0 && seconds <= 86400)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--timeout=", seconds, " is not between 0 and 86400"));
  }
  return std::chrono::duration_cast<coro::Duration>(std::chrono::duration<double>(seconds));
}

absl::StatusOr<Arguments> ParseArguments(const std::vector<std::string>& positional) {
  Arguments arguments;
  arguments.client.page_bytes = absl::GetFlag(FLAGS_page_size);
  arguments.client.page_count = absl::GetFlag(FLAGS_num_pages);
  arguments.client.data_seed = absl::GetFlag(FLAGS_data_seed);
  ASSIGN_OR_RETURN(arguments.client.silence_timeout, Timeout());
  const std::string completion = absl::GetFlag(FLAGS_completion);
  if (completion != "count" && completion != "last") {
    return absl::InvalidArgumentError(
        absl::StrCat("--completion=", completion, " does not exist: count or last"));
  }
  arguments.client.completion =
      completion == "count" ? CompletionMode::kCount : CompletionMode::kLast;
  if (positional.size() > 3) {
    return absl::InvalidArgumentError(absl::StrCat("too many arguments: ", positional[3]));
  }
  if (!positional.empty()) {
    arguments.server = positional[0];
    // Whatever is wrong with it is said before anything is opened.
    RETURN_IF_ERROR(fabric::Address::Parse(arguments.server).status());
  }
  if (positional.size() > 1) {
    ASSIGN_OR_RETURN(arguments.client.page_bytes, ParseNumber(positional[1], "page size"));
  }
  if (positional.size() > 2) {
    ASSIGN_OR_RETURN(arguments.client.page_count, ParseNumber(positional[2], "number of pages"));
  }
  RETURN_IF_ERROR(MakeRequest(arguments.client).status());
  return arguments;
}

std::string DescribeLink(const fabric::NicInfo& nic) {
  return nic.link_gbps > 0 ? absl::StrCat(", ", nic.link_gbps, " Gbit/s") : "";
}

void SayFabric(const fabric::Fabric& fabric, const fabric::NicInfo& nic,
               const std::string& reason) {
  Say(absl::StrCat("fabric    ", std::string(fabric.description()), ", NIC ", nic.name,
                   DescribeLink(nic), reason.empty() ? "" : absl::StrCat(" (auto: ", reason, ")")));
}

void SayRequest(const ClientOptions& options) {
  Say(absl::StrFormat("request   %u pages of %s into each of %u regions of %s, completion %s",
                      options.page_count, FormatBytes(options.page_bytes), kRegionCount,
                      FormatBytes(options.region_bytes),
                      options.completion == CompletionMode::kCount ? "count" : "last"));
}

// Prints what came, and returns the exit status.
int Report(const TransferReport& transfer, const std::string& fabric, const std::string& nic,
           std::optional<std::uint64_t> seed) {
  const Verification& verification = transfer.verification;
  Say(absl::StrCat("received  ", verification.pages, " pages, ", FormatBytes(transfer.bytes), ", ",
                   FormatDuration(transfer.elapsed), " after connecting",
                   seed.has_value() ? " (simulated time)" : ""));
  Say(Describe(verification));
  if (absl::GetFlag(FLAGS_json)) {
    nlohmann::json json = {{"fabric", fabric},
                           {"nic", nic},
                           {"simulated", seed.has_value()},
                           {"correct", verification.correct()},
                           {"pages", verification.pages},
                           {"wrong_pages", verification.wrong_pages},
                           {"bytes", transfer.bytes},
                           {"nanoseconds", transfer.elapsed.count()}};
    if (seed.has_value()) json["seed"] = *seed;
    std::cout << json.dump() << std::endl;
  }
  return verification.correct() ? kExitOk : kExitFailed;
}

int Simulate(const BackendOptions& backend, const BackendChoice& choice,
             const Arguments& arguments) {
  if (!arguments.server.empty()) {
    return ReportError(kUsage.name,
                       absl::InvalidArgumentError(
                           "the simulator runs both sides in one process and takes no address; to "
                           "reach another process add --provider=tcp or --provider=shm"));
  }
  SimulatedRunOptions options;
  options.seed = backend.seed;
  options.profile = choice.profile;
  options.nic = backend.nic;
  options.client = arguments.client;
  options.server.log = Log;
  std::string description;
  Progress progress("writes", kRegionCount * arguments.client.page_count,
                    arguments.client.page_bytes);
  options.client.progress = [&](std::uint64_t arrived, std::uint64_t) { progress.Update(arrived); };
  fabric::NicInfo nic;
  options.opened = [&](const fabric::Fabric& fabric, const fabric::NicInfo& opened,
                       const fabric::Address& server) {
    nic = opened;
    description = std::string(fabric.description());
    SayFabric(fabric, opened, choice.reason);
    Say(absl::StrCat("seed      ", backend.seed, " (--seed=", backend.seed,
                     " repeats this run exactly)"));
    Say(absl::StrCat("server    ", server.ToHex()));
    SayRequest(arguments.client);
  };
  const absl::StatusOr<SimulatedRun> run = RunSimulated(options);
  if (!run.ok()) return ReportError(kUsage.name, run.status());
  Say(absl::StrCat("simulated ", FormatDuration(run->simulated), " of virtual time"));
  return Report(run->transfer, description, nic.name, backend.seed);
}

int Serve(Network& network, const Arguments& arguments) {
  ServerOptions options;
  options.clients = absl::GetFlag(FLAGS_clients);
  options.write_timeout = arguments.client.silence_timeout;
  options.log = Log;
  absl::StatusOr<std::unique_ptr<Server>> server = Server::Open(network, options);
  if (!server.ok()) return ReportError(kUsage.name, server.status());
  Say(absl::StrFormat("memory    %u regions of %s, %u message buffers of %s", kRegionCount,
                      FormatBytes(kRegionBytes), 2, FormatBytes(kMessageBytes)));
  Say(absl::StrCat("address   ", network.endpoint().address().ToHex()));
  Say("waiting   for clients: write --provider=... ADDRESS (end with Ctrl-C)");
  const absl::Status status = network.loop().Run((*server)->Run());
  return status.ok() ? kExitOk : ReportError(kUsage.name, status);
}

int Fetch(Network& network, const fabric::Fabric& fabric, Arguments arguments) {
  arguments.client.session = std::random_device()() | std::uint64_t{std::random_device()()} << 32;
  Progress progress("writes", kRegionCount * arguments.client.page_count,
                    arguments.client.page_bytes);
  arguments.client.progress = [&](std::uint64_t arrived, std::uint64_t) {
    progress.Update(arrived);
  };
  absl::StatusOr<std::unique_ptr<Client>> client = Client::Open(network, arguments.client);
  if (!client.ok()) return ReportError(kUsage.name, client.status());
  SayRequest(arguments.client);
  const fabric::Address server = *fabric::Address::Parse(arguments.server);
  const absl::StatusOr<TransferReport> report = network.loop().Run((*client)->Run(server));
  if (!report.ok()) return ReportError(kUsage.name, report.status());
  return Report(*report, std::string(fabric.description()), network.nic().name, std::nullopt);
}

int RunOnFabric(const BackendOptions& backend, const BackendChoice& choice,
                const Arguments& arguments) {
  const absl::StatusOr<std::size_t> nic = FindNic(*choice.fabric, backend.nic);
  if (!nic.ok()) return ReportError(kUsage.name, nic.status());
  coro::SteadyClock clock;
  coro::EventLoop loop(clock);
  const absl::StatusOr<std::unique_ptr<Network>> network =
      Network::Open(loop, *choice.fabric, *nic);
  if (!network.ok()) return ReportError(kUsage.name, network.status());
  SayFabric(*choice.fabric, (*network)->nic(), choice.reason);
  return arguments.server.empty() ? Serve(**network, arguments)
                                  : Fetch(**network, *choice.fabric, arguments);
}

int Main(int argc, char** argv) {
  const std::vector<std::string> positional = ParseCommandLineOrExit(argc, argv, kUsage);
  const absl::StatusOr<Arguments> arguments = ParseArguments(positional);
  if (!arguments.ok()) return ReportError(kUsage.name, arguments.status());
  const BackendOptions backend = BackendOptionsFromFlags();
  const absl::StatusOr<BackendChoice> choice = ChooseBackend(backend);
  if (!choice.ok()) return ReportError(kUsage.name, choice.status());
  return choice->simulated ? Simulate(backend, *choice, *arguments)
                           : RunOnFabric(backend, *choice, *arguments);
}

}  // namespace
}  // namespace apps::write

int main(int argc, char** argv) { return apps::write::Main(argc, argv); }
