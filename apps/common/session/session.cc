#include "drydock/apps/common/session/session.h"

#include <cstddef>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "drydock/apps/common/backend_choice.h"
#include "drydock/apps/common/command_line.h"
#include "drydock/apps/common/fault_flags.h"
#include "drydock/apps/common/metrics_flags.h"
#include "drydock/apps/common/nic_choice.h"
#include "drydock/apps/common/report/output_flags.h"
#include "drydock/apps/common/trace_flags.h"
#include "drydock/apps/common/units.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/steady_clock.h"
#include "drydock/sim/faults/device_faults.h"
#include "drydock/sim/tracing/world_trace.h"
#include "drydock/sim/world/world.h"

namespace drydock::apps {

struct Session::Parts {
  SessionOptions options;
  BackendOptions backend;
  BackendChoice choice;
  std::unique_ptr<FaultRun> faults;     // null: not asked for
  std::unique_ptr<MetricsRun> metrics;  // null: not asked for
  std::unique_ptr<TraceRun> trace;
  OutputForm form = OutputForm::kText;
  coro::SteadyClock real_time;
};

namespace {

using fabric::async::Node;

// Under the simulated `efa` fabric a device's rules would strike the packets of its protocol, and
// not the program's operations: there, all faults are put above it.
fabric::faults::FaultSet AppliedByDevice(const BackendChoice& choice) {
  const bool device = choice.simulated && choice.simulated_fabric == SimulatedFabric::kEfaDirect;
  return device ? sim::DeviceFaults() : fabric::faults::FaultSet();
}

}  // namespace

// ---- On a fabric of this machine ----

class Session::OnFabric final : public Session {
 public:
  explicit OnFabric(std::unique_ptr<Parts> parts) : Session(std::move(parts)) {}

  absl::StatusOr<Roles> RolesFor(bool has_address) const override {
    return Roles{.server = !has_address, .client = has_address};
  }
  coro::Clock& clock() override { return parts_->real_time; }
  void EndRun() override {}

 private:
  absl::StatusOr<std::unique_ptr<fabric::Fabric>> OpenFabric(absl::string_view name) override {
    std::unique_ptr<fabric::Fabric> fabric = std::move(parts_->choice.fabric);
    if (parts_->metrics != nullptr) fabric = parts_->metrics->Watch(std::move(fabric));
    if (parts_->faults != nullptr) {
      ASSIGN_OR_RETURN(fabric, parts_->faults->Wrap(std::move(fabric), parts_->real_time));
    }
    return parts_->trace->Wrap(std::move(fabric), name);
  }
  int FinishWorld(int exit_code) override { return exit_code; }
};

// ---- Simulated ----

class Session::Simulated final : public Session {
 public:
  explicit Simulated(std::unique_ptr<Parts> parts)
      : Session(std::move(parts)), world_(parts_->backend.seed, *parts_->choice.profile) {}

  absl::Status Prepare() {
    for (fabric::PeerMemoryClient* device : parts_->options.devices) world_.AttachDevice(*device);
    fabric::faults::FaultEngine* engine = nullptr;
    if (parts_->faults != nullptr) {
      world_.UseFaultEngine(parts_->faults->engine());
      engine = parts_->faults->engine().get();
    }
    devices_ = parts_->trace->Watch(world_, engine);
    return absl::OkStatus();
  }

  absl::StatusOr<Roles> RolesFor(bool has_address) const override {
    if (!has_address) return Roles{.server = true, .client = true};
    return absl::InvalidArgumentError(
        "the simulator runs both sides in one process and takes no address; to reach another "
        "process add --provider=tcp or --provider=shm");
  }
  coro::Clock& clock() override { return world_; }
  void EndRun() override {
    console().Say("simulated",
                  absl::StrCat(FormatDuration(world_.timeline().elapsed()), " of virtual time"));
    world_.CheckRequests();
    for (const sim::Finding& finding : world_.findings()) {
      findings_.push_back(sim::ToText(finding));
    }
  }

 private:
  absl::StatusOr<std::unique_ptr<fabric::Fabric>> OpenFabric(absl::string_view name) override {
    const SimulatedFabric kind = parts_->choice.simulated_fabric;
    auto fabric = OpenSimulatedFabric(kind, world_, world_.AddNode(std::string(name)));
    if (parts_->faults != nullptr) {
      const auto wake_at = [this](coro::Time time) { world_.timeline().WakeAt(time); };
      ASSIGN_OR_RETURN(fabric, parts_->faults->Wrap(std::move(fabric), world_, wake_at));
    }
    return parts_->trace->Wrap(std::move(fabric), name, world_, kind);
  }
  int FinishWorld(int exit_code) override {
    devices_.reset();
    if (parts_->metrics != nullptr) parts_->metrics->Take(world_);
    for (const std::string& finding : findings_) {
      std::cerr << parts_->options.program << ": check failed: " << finding << "\n";
    }
    return findings_.empty() ? exit_code : kExitFailed;
  }

  sim::World world_;
  std::unique_ptr<sim::WorldTrace> devices_;  // null: nothing is observed
  std::vector<std::string> findings_;         // rules of RDMA that the program broke
};

// ---- Either ----

absl::StatusOr<std::unique_ptr<Session>> Session::FromFlags(const SessionOptions& options) {
  auto parts = std::make_unique<Parts>();
  parts->options = options;
  parts->backend = BackendOptionsFromFlags();
  parts->backend.device_memory = !options.devices.empty();
  ASSIGN_OR_RETURN(parts->choice, ChooseBackend(parts->backend));
  const std::uint64_t seed = parts->backend.seed;
  const bool simulated = parts->choice.simulated;
  ASSIGN_OR_RETURN(parts->faults, FaultRun::FromFlags(seed, AppliedByDevice(parts->choice)));
  ASSIGN_OR_RETURN(parts->metrics, MetricsFromFlags());
  ASSIGN_OR_RETURN(parts->trace, TraceRun::FromFlags(options.program, simulated, seed));
  ASSIGN_OR_RETURN(parts->form, OutputFormFromFlags());
  if (!simulated) return std::make_unique<OnFabric>(std::move(parts));
  auto session = std::make_unique<Simulated>(std::move(parts));
  RETURN_IF_ERROR(session->Prepare());
  return session;
}

Session::~Session() = default;

Session::Session(std::unique_ptr<Parts> parts)
    : parts_(std::move(parts)),
      console_(std::make_unique<Console>(std::cout, std::cerr, parts_->real_time,
                                         ConsoleOptions{.form = parts_->form,
                                                        .verbose = parts_->options.verbose,
                                                        .program = parts_->options.program})) {}

absl::StatusOr<Machine> Session::OpenMachine(absl::string_view name) {
  Machine machine;
  ASSIGN_OR_RETURN(machine.fabric, OpenFabric(name));
  ASSIGN_OR_RETURN(machine.nic, FindNic(*machine.fabric, parts_->backend.nic));
  nic_ = machine.fabric->nics()[machine.nic];
  scene_.fabric = std::string(machine.fabric->description());
  scene_.nic = nic_->name;
  if (parts_->choice.simulated) scene_.seed = parts_->backend.seed;
  return machine;
}

absl::StatusOr<std::unique_ptr<Node>> Session::Open(coro::EventLoop& loop, absl::string_view name) {
  ASSIGN_OR_RETURN(Machine machine, OpenMachine(name));
  return Node::Open(loop, std::move(machine.fabric), machine.nic);
}

const std::string& Session::program() const { return parts_->options.program; }

void Session::SayScene(const std::vector<std::pair<std::string, std::string>>& lines) {
  console_->SayFabric(scene_.fabric, *nic_, parts_->choice.reason);
  for (const auto& [label, text] : lines) console_->Say(label, text);
  if (!scene_.seed.has_value()) return;
  console_->Say(
      "seed", absl::StrCat(*scene_.seed, " (--seed=", *scene_.seed, " repeats this run exactly)"));
}

absl::Status Session::CheckServing(bool ends, absl::string_view flag) const {
  if (parts_->form != OutputForm::kText) {
    return absl::InvalidArgumentError(
        "--json and --csv are for a client's result: give an address");
  }
  if ((parts_->trace->asked() || parts_->metrics != nullptr) && !ends) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--trace and --metrics are written when the server ends by itself: add ", flag));
  }
  return absl::OkStatus();
}

int Session::Finish(int exit_code) {
  exit_code = FinishWorld(exit_code);
  parts_->choice.fabric.reset();  // where no node was opened
  const bool ran = exit_code != kExitBadInput;
  if (ran) {
    const absl::Status traced = parts_->trace->Finish();
    if (!traced.ok()) exit_code = ReportError(program(), traced);
  }
  if (ran && parts_->faults != nullptr) {
    for (const absl::string_view line :
         absl::StrSplit(parts_->faults->Table(), '\n', absl::SkipEmpty())) {
      console_->Say("faults", line);
    }
    // A run in which a rule never fired has not tested its faults.
    const absl::Status fired = parts_->faults->Verify();
    if (!fired.ok()) exit_code = ReportError(program(), fired);
  }
  return DeliverMetrics(program(), parts_->metrics.get(), OutputIsForScripts(), exit_code);
}

}  // namespace drydock::apps
