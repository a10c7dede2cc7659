#include "apps/write/program.h"

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
#include "absl/flags/reflection.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "apps/common/backend_choice.h"
#include "apps/common/command_line.h"
#include "apps/common/fault_flags.h"
#include "apps/common/metrics_flags.h"
#include "apps/common/nic_choice.h"
#include "apps/common/report/output_flags.h"
#include "apps/common/trace_flags.h"
#include "apps/common/units.h"
#include "apps/write/client.h"
#include "apps/write/console.h"
#include "apps/write/server.h"
#include "apps/write/simulated_run.h"
#include "coro/event_loop.h"
#include "coro/status_macros.h"
#include "coro/steady_clock.h"
#include "coro/time.h"
#include "fabric/async/node.h"
#include "fabric/fabric.h"
#include "fabric/faults/fault.h"
#include "sim/faults/device_faults.h"
#include "sim/world.h"

ABSL_FLAG(std::string, completion, "count",
          "Client: how it knows that all writes arrived. count: every write announces itself, and "
          "the client counts. last: only the last one does, as in the seed program: wrong on EFA, "
          "where writes are not ordered.");
ABSL_FLAG(std::uint64_t, page_size, 1048576, "Client: bytes of a page; divides 16777216.");
ABSL_FLAG(std::uint64_t, num_pages, 8,
          "Client: pages to transfer into each of the two regions, at most 2037.");
ABSL_FLAG(std::uint64_t, data_seed, 0xb584035fabe6ce9b,
          "Client: seed of the random data that is transferred, and of the pages that it goes to.");
ABSL_FLAG(std::uint64_t, clients, 0, "Server: ends after this many transfers; 0 means never.");
ABSL_FLAG(double, timeout, 10,
          "Seconds that a client waits for the next write, and a server for the end of one, before "
          "the other side is given up.");
ABSL_FLAG(bool, verbose, false,
          "Also print every region and every write, with its page, its bounds and its immediate.");

namespace apps::write {
namespace {

// The positional arguments, and the flags that they stand for.
struct Arguments {
  std::optional<fabric::Address> server;  // absent: none given
  ClientOptions client;
};

absl::StatusOr<std::uint64_t> ParseNumber(const std::string& text, absl::string_view what) {
  std::uint64_t number = 0;
  if (absl::SimpleAtoi(text, &number)) return number;
  return absl::InvalidArgumentError(absl::StrCat(what, " '", text, "' is not a whole number"));
}

absl::StatusOr<coro::Duration> Timeout() {
  const double seconds = absl::GetFlag(FLAGS_timeout);
  if (!(seconds >= 0.001 && seconds <= 86400)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--timeout=", seconds, " is not between 0.001 and 86400 seconds"));
  }
  return std::chrono::duration_cast<coro::Duration>(std::chrono::duration<double>(seconds));
}

absl::StatusOr<CompletionMode> Completion() {
  const std::string name = absl::GetFlag(FLAGS_completion);
  for (const CompletionMode mode : {CompletionMode::kCount, CompletionMode::kLast}) {
    if (name == NameOf(mode)) return mode;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--completion=", name, " does not exist: count or last"));
}

absl::StatusOr<Arguments> ParseArguments(const std::vector<std::string>& positional,
                                         DataMemory& memory) {
  Arguments arguments;
  arguments.client.memory = &memory;
  arguments.client.page_bytes = absl::GetFlag(FLAGS_page_size);
  arguments.client.page_count = absl::GetFlag(FLAGS_num_pages);
  arguments.client.data_seed = absl::GetFlag(FLAGS_data_seed);
  ASSIGN_OR_RETURN(arguments.client.silence_timeout, Timeout());
  ASSIGN_OR_RETURN(arguments.client.completion, Completion());
  if (positional.size() > 3) {
    return absl::InvalidArgumentError(absl::StrCat("too many arguments: ", positional[3]));
  }
  if (!positional.empty()) {
    ASSIGN_OR_RETURN(arguments.server, fabric::Address::Parse(positional[0]));
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

// Under the simulated `efa` fabric a device's rules would strike the packets of its protocol, and
// not the program's operations: there, all faults are put above it.
fabric::faults::FaultSet AppliedByDevice(const BackendChoice& choice) {
  const bool device = choice.simulated && choice.simulated_fabric == SimulatedFabric::kEfaDirect;
  return device ? sim::DeviceFaults() : fabric::faults::FaultSet();
}

class Program {
 public:
  Program(std::string name, DataPlaces places)
      : name_(std::move(name)), places_(std::move(places)) {}

  int Run(Arguments arguments);

 private:
  int Fail(const absl::Status& status) const { return ReportError(name_, status); }
  int Simulate(Console& console, const BackendOptions& backend, const BackendChoice& choice,
               const Arguments& arguments, const FaultRun* faults, const TraceRun& trace) const;
  int Serve(Console& console, coro::EventLoop& loop, const BackendChoice& choice, std::size_t nic,
            const Arguments& arguments) const;
  int Fetch(Console& console, coro::EventLoop& loop, const BackendChoice& choice, std::size_t nic,
            Arguments arguments) const;
  int RunOnFabric(Console& console, const BackendOptions& backend, const BackendChoice& choice,
                  const Arguments& arguments) const;
  int ReportFaults(Console& console, const FaultRun& faults, int exit_code) const;
  void SayPlaces(Console& console) const;

  const std::string name_;
  const DataPlaces places_;
  std::unique_ptr<MetricsRun> metrics_;  // null: not asked for
};

void Program::SayPlaces(Console& console) const {
  for (const auto& [label, text] : places_.lines()) console.Say(label, text);
}

int Program::Simulate(Console& console, const BackendOptions& backend, const BackendChoice& choice,
                      const Arguments& arguments, const FaultRun* faults,
                      const TraceRun& trace) const {
  if (arguments.server.has_value()) {
    return Fail(absl::InvalidArgumentError(
        "the simulator runs both sides in one process and takes no address; to reach another "
        "process add --provider=tcp or --provider=shm"));
  }
  Scene scene;
  scene.seed = backend.seed;
  SimulatedRunOptions options;
  options.seed = backend.seed;
  options.profile = choice.profile;
  options.simulated_fabric = choice.simulated_fabric;
  options.nic = backend.nic;
  options.client = arguments.client;
  options.server.memory = places_.server;
  options.prepare = places_.prepare;
  options.metrics = metrics_.get();
  options.client.log = options.server.log = console.log();
  options.client.progress = [&](const Arrival& arrival) { console.ShowProgress(arrival); };
  options.server.write_timeout = arguments.client.silence_timeout;
  if (faults != nullptr) {
    options.faults = faults->engine();
    options.decorate = [faults](std::unique_ptr<fabric::Fabric> fabric, sim::World& world) {
      return faults->Wrap(std::move(fabric), world,
                          [&world](coro::Time time) { world.WakeAt(time); });
    };
  }
  options.trace = &trace;
  options.opened = [&](const fabric::Fabric& fabric, const fabric::NicInfo& nic,
                       const fabric::Address& server, const RandomFillMessage& request) {
    scene.fabric = std::string(fabric.description());
    scene.nic = nic.name;
    console.SayFabric(fabric, nic, choice.reason);
    SayPlaces(console);
    console.Say("seed", absl::StrCat(backend.seed, " (--seed=", backend.seed,
                                     " repeats this run exactly)"));
    console.Say("server", server.ToHex());
    console.SayRequest(request, arguments.client.region_bytes);
    console.BeginProgress(request);
  };
  const absl::StatusOr<SimulatedRun> run = RunSimulated(options);
  console.EndProgress();
  if (!run.ok()) return Fail(run.status());
  console.Say("simulated", absl::StrCat(FormatDuration(run->simulated), " of virtual time"));
  const int exit_code = console.Report(run->transfer, scene);
  for (const std::string& finding : run->findings) {
    std::cerr << name_ << ": check failed: " << finding << "\n";
  }
  return run->findings.empty() ? exit_code : kExitFailed;
}

int Program::Serve(Console& console, coro::EventLoop& loop, const BackendChoice& choice,
                   std::size_t nic, const Arguments& arguments) const {
  if (OutputIsForScripts()) {
    return Fail(
        absl::InvalidArgumentError("--json and --csv are for a client's result: give an address"));
  }
  const bool observed = absl::FindCommandLineFlag("trace")->CurrentValue() != "" || metrics_;
  if (observed && absl::GetFlag(FLAGS_clients) == 0) {
    return Fail(absl::InvalidArgumentError(
        "--trace and --metrics are written when the server ends by itself: add --clients=N"));
  }
  const absl::StatusOr<std::unique_ptr<fabric::async::Node>> network =
      fabric::async::Node::Open(loop, *choice.fabric, nic);
  if (!network.ok()) return Fail(network.status());
  ServerOptions options;
  options.memory = places_.server;
  options.clients = absl::GetFlag(FLAGS_clients);
  options.write_timeout = arguments.client.silence_timeout;
  options.log = console.log();
  const absl::StatusOr<std::unique_ptr<Server>> server = Server::Open(**network, options);
  if (!server.ok()) return Fail(server.status());
  console.SayFabric(*choice.fabric, (*network)->nic(), choice.reason);
  SayPlaces(console);
  console.Say("memory", absl::StrFormat("%u regions of %s, 2 message buffers of %s", kRegionCount,
                                        FormatBytes(kRegionBytes), FormatBytes(kMessageBytes)));
  console.Say("address", (*network)->endpoint().address().ToHex());
  console.Say("waiting",
              absl::StrCat("for clients: ", name_, " --provider=... ADDRESS (end with Ctrl-C)"));
  const absl::Status status = loop.Run((*server)->Run());
  return status.ok() ? kExitOk : Fail(status);
}

int Program::Fetch(Console& console, coro::EventLoop& loop, const BackendChoice& choice,
                   std::size_t nic, Arguments arguments) const {
  const absl::StatusOr<std::unique_ptr<fabric::async::Node>> opened =
      fabric::async::Node::Open(loop, *choice.fabric, nic);
  if (!opened.ok()) return Fail(opened.status());
  fabric::async::Node& node = **opened;
  arguments.client.session = std::random_device()() | std::uint64_t{std::random_device()()} << 32;
  arguments.client.log = console.log();
  arguments.client.progress = [&](const Arrival& arrival) { console.ShowProgress(arrival); };
  absl::StatusOr<std::unique_ptr<Client>> client =
      Client::Open(node, arguments.client, *arguments.server);
  if (!client.ok()) return Fail(client.status());
  console.SayFabric(*choice.fabric, node.nic(), choice.reason);
  SayPlaces(console);
  console.Say("server", arguments.server->ToHex());
  console.SayRequest((*client)->request(), arguments.client.region_bytes);
  console.BeginProgress((*client)->request());
  const absl::StatusOr<TransferReport> report = node.loop().Run((*client)->Run());
  console.EndProgress();
  if (!report.ok()) return Fail(report.status());
  Scene scene;
  scene.fabric = std::string(choice.fabric->description());
  scene.nic = node.nic().name;
  return console.Report(*report, scene);
}

int Program::RunOnFabric(Console& console, const BackendOptions& backend,
                         const BackendChoice& choice, const Arguments& arguments) const {
  const absl::StatusOr<std::size_t> nic = FindNic(*choice.fabric, backend.nic);
  if (!nic.ok()) return Fail(nic.status());
  coro::SteadyClock clock;
  coro::EventLoop loop(clock);
  return arguments.server.has_value() ? Fetch(console, loop, choice, *nic, arguments)
                                      : Serve(console, loop, choice, *nic, arguments);
}

// What the plan's rules came to, and the exit status for it all: a run in which a rule never fired
// has not shown what it was meant to.
int Program::ReportFaults(Console& console, const FaultRun& faults, int exit_code) const {
  if (exit_code == kExitBadInput) return exit_code;  // nothing ran
  for (const absl::string_view line : absl::StrSplit(faults.Table(), '\n', absl::SkipEmpty())) {
    console.Say("faults", line);
  }
  const absl::Status status = faults.Verify();
  return status.ok() ? exit_code : Fail(status);
}

int Program::Run(Arguments arguments) {
  BackendOptions backend = BackendOptionsFromFlags();
  backend.device_memory = places_.device_memory;
  absl::StatusOr<BackendChoice> choice = ChooseBackend(backend);
  if (!choice.ok()) return Fail(choice.status());
  const absl::StatusOr<std::unique_ptr<FaultRun>> faults =
      FaultRun::FromFlags(backend.seed, AppliedByDevice(*choice));
  if (!faults.ok()) return Fail(faults.status());
  absl::StatusOr<std::unique_ptr<MetricsRun>> metrics = MetricsFromFlags();
  if (!metrics.ok()) return Fail(metrics.status());
  metrics_ = *std::move(metrics);
  if (metrics_ != nullptr && !choice->simulated) {
    choice->fabric = metrics_->Watch(std::move(choice->fabric));
  }
  const absl::StatusOr<std::unique_ptr<TraceRun>> trace =
      TraceRun::FromFlags(name_, choice->simulated, backend.seed);
  if (!trace.ok()) return Fail(trace.status());
  coro::SteadyClock clock;
  if (*faults != nullptr && !choice->simulated) {
    absl::StatusOr<std::unique_ptr<fabric::Fabric>> wrapped =
        (*faults)->Wrap(std::move(choice->fabric), clock);
    if (!wrapped.ok()) return Fail(wrapped.status());
    choice->fabric = *std::move(wrapped);
  }
  if (!choice->simulated) {
    const bool client = arguments.server.has_value();
    choice->fabric = (*trace)->Wrap(std::move(choice->fabric), client ? "client" : "server");
  }
  const absl::StatusOr<OutputForm> form = OutputFormFromFlags();
  if (!form.ok()) return Fail(form.status());
  Console console(std::cout, std::cerr, clock,
                  {.form = *form, .verbose = absl::GetFlag(FLAGS_verbose), .program = name_});
  int exit_code = choice->simulated
                      ? Simulate(console, backend, *choice, arguments, faults->get(), **trace)
                      : RunOnFabric(console, backend, *choice, arguments);
  choice->fabric.reset();
  if (exit_code != kExitBadInput) {  // else nothing ran
    const absl::Status traced = (*trace)->Finish();
    if (!traced.ok()) exit_code = Fail(traced);
  }
  if (*faults != nullptr) exit_code = ReportFaults(console, **faults, exit_code);
  return DeliverMetrics(name_, metrics_.get(), OutputIsForScripts(), exit_code);
}

}  // namespace

int RunProgram(int argc, char** argv, const Usage& usage, const FindDataPlaces& find,
               const Instead& instead) {
  const std::vector<std::string> positional = ParseCommandLineOrExit(argc, argv, usage);
  if (const std::optional<int> done = instead(positional)) return *done;
  absl::StatusOr<DataPlaces> places = find();
  if (!places.ok()) return ReportError(usage.name, places.status());
  const absl::StatusOr<Arguments> arguments = ParseArguments(positional, *places->client);
  if (!arguments.ok()) return ReportError(usage.name, arguments.status());
  return Program(usage.name, *std::move(places)).Run(*arguments);
}

}  // namespace apps::write
