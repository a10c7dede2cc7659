#include "sim/verbs/machine.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coro/status_macros.h"
#include "fabric/faults/plan_json.h"
#include "sim/faults/device_faults.h"

namespace sim::verbs {
namespace {

using fabric::faults::Fault;
using fabric::faults::FaultEngine;
using fabric::faults::FaultPlan;

// What the library applies itself: the calls of a driver that a plan lets fail.
fabric::faults::FaultSet DriverFaults() {
  fabric::faults::FaultSet faults;
  for (const Fault fault :
       {Fault::kOpenDomainFails, Fault::kOpenCompletionQueueFails, Fault::kOpenEndpointFails,
        Fault::kRegisterMemoryFails, Fault::kSendQueueFull, Fault::kReceiveQueueFull}) {
    faults.set(static_cast<std::size_t>(fault));
  }
  return faults;
}

absl::StatusOr<std::shared_ptr<FaultEngine>> LoadFaults(const std::string& file,
                                                        std::uint64_t seed) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return absl::NotFoundError(absl::StrCat("fault plan ", file, ": not readable"));
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  absl::StatusOr<FaultPlan> plan = fabric::faults::ParseFaultPlan(text);
  if (!plan.ok()) {
    return absl::Status(plan.status().code(),
                        absl::StrCat("fault plan ", file, ": ", plan.status().message()));
  }
  return FaultEngine::Create(*std::move(plan), seed,
                             {.device = DeviceFaults(), .decorator = DriverFaults()});
}

}  // namespace

void Say(const std::string& line) { std::fprintf(stderr, "drydock-efa: %s\n", line.c_str()); }

absl::StatusOr<Machine*> Machine::Make() {
  ASSIGN_OR_RETURN(Settings settings, Settings::FromEnvironment([](const char* name) {
                     return static_cast<const char*>(std::getenv(name));
                   }));
  ASSIGN_OR_RETURN(Profile profile, settings.MakeProfile());
  return new Machine(std::move(settings), std::move(profile));  // as long as the process
}

const absl::StatusOr<Machine*>& Machine::Get() {
  static const auto& machine = *new absl::StatusOr<Machine*>([] {
    absl::StatusOr<Machine*> made = Make();
    if (!made.ok()) Say(std::string(made.status().message()));
    return made;
  }());
  return machine;
}

absl::Status Machine::Prepare(Host& host) {
  if (!settings_.faults.empty()) {
    ASSIGN_OR_RETURN(faults_, LoadFaults(settings_.faults, settings_.seed));
    RETURN_IF_ERROR(host.world().UseFaultEngine(faults_));
  }
  if (!settings_.trace.empty()) {
    ASSIGN_OR_RETURN(trace_, Trace::Open(settings_.trace, host.world()));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<Host>> Machine::Open() {
  const std::lock_guard lock(mutex_);
  // A forked child has a copy of its parent's that it cannot use: it joins by itself.
  if (std::shared_ptr<Host> open = host_.lock(); open != nullptr && open->usable()) return open;
  ASSIGN_OR_RETURN(
      std::unique_ptr<Host> host,
      Host::Join({.fabric = settings_.fabric, .seed = settings_.seed, .profile = &profile_}));
  {
    const std::lock_guard world(host->mutex());
    RETURN_IF_ERROR(Prepare(*host));
  }
  std::shared_ptr<Host> shared(host.release(), [this](Host* leaving) {
    {
      const std::lock_guard world(leaving->mutex());
      trace_.reset();
    }
    delete leaving;
  });
  host_ = shared;
  return shared;
}

}  // namespace sim::verbs
