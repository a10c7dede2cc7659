#include "sim/verbs/machine.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coro/status_macros.h"
#include "fabric/faults/plan_json.h"
#include "sim/faults/device_faults.h"
#include "sim/verbs/last_words.h"

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

bool LockSoon(std::unique_lock<std::mutex>& lock) {
  for (int i = 0; i < 1000 && !lock.try_lock(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return lock.owns_lock();
}

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
    host.world().UseFaultEngine(faults_);
  }
  return settings_.trace.empty() ? absl::OkStatus() : OpenTrace(host);
}

absl::Status Machine::OpenTrace(Host& host) {
  // A forked child lets the copy of its parent's trace be.
  if (trace_ != nullptr && !trace_->mine()) static_cast<void>(trace_.release());
  // Of a machine that is just leaving: its deleter waits for the mutex that is held here.
  if (trace_ != nullptr) {
    const std::lock_guard world(traced_->mutex());
    EndTrace();
  }
  BeforeDeathBySignal(&Machine::AtExit);  // before the trace looks at signals itself
  if (living_ != getpid()) lives_ = 0;    // those of a forked child's parent
  living_ = getpid();
  ASSIGN_OR_RETURN(
      trace_, Trace::Open(settings_.trace, ++lives_, host.world(), settings_.seed, faults_.get()));
  traced_ = &host;
  static const bool registered = std::atexit(&Machine::AtExit) == 0;
  static_cast<void>(registered);
  return absl::OkStatus();
}

void Machine::EndTrace() {
  if (trace_->idle()) --lives_;  // the next one takes its file
  trace_.reset();
}

// False: the mutex never comes (objects.h, Closing).
bool Machine::CloseTrace(Host& host) {
  if (settings_.trace.empty()) return true;
  std::unique_lock lock(mutex_, std::defer_lock);
  if (!LockSoon(lock)) return false;
  const std::lock_guard world(host.mutex());
  if (traced_ == &host && trace_ != nullptr && trace_->mine()) EndTrace();
  if (traced_ == &host) traced_ = nullptr;
  return true;
}

// A program that ends without closing its devices has a trace, too.
void Machine::AtExit() {
  Machine& machine = **Get();
  const Unhurried unhurried;
  std::shared_ptr<Host> host;  // goes after the lock: its deleter takes it, too
  std::unique_lock lock(machine.mutex_, std::defer_lock);
  if (!LockSoon(lock)) return;  // whoever opens a device may be the one who ends
  host = machine.host_.lock();
  if (host == nullptr || machine.traced_ != host.get() || !host->usable()) return;
  std::unique_lock world(host->mutex(), std::defer_lock);
  if (!LockSoon(world)) return;
  machine.trace_.reset();
}

absl::StatusOr<std::shared_ptr<Host>> Machine::Open() {
  const Unhurried unhurried;
  std::shared_ptr<Host> open;  // goes after the lock: its deleter takes it, too
  const std::lock_guard lock(mutex_);
  // A forked child has a copy of its parent's that it cannot use: it joins by itself.
  open = host_.lock();
  if (open != nullptr && open->usable()) return open;
  ASSIGN_OR_RETURN(std::unique_ptr<Host> host, Host::Join({.fabric = settings_.fabric,
                                                           .seed = settings_.seed,
                                                           .profile = &profile_,
                                                           .network = settings_.network,
                                                           .key_file = settings_.key}));
  {
    const std::lock_guard world(host->mutex());
    RETURN_IF_ERROR(Prepare(*host));
  }
  std::shared_ptr<Host> shared(host.release(), [this](Host* leaving) {
    const Unhurried leaves;
    if (CloseTrace(*leaving)) delete leaving;
  });
  host_ = shared;
  return shared;
}

}  // namespace sim::verbs
