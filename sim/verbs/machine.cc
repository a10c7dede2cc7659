#include "sim/verbs/machine.h"

#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
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

// Set once, and read where the process ends.
Machine* of_process = nullptr;

}  // namespace

void Say(const std::string& line) { std::fprintf(stderr, "drydock-efa: %s\n", line.c_str()); }

bool LockSoon(std::unique_lock<std::mutex>& lock) {
  timespec end{};
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += 1;
  std::mutex& mutex = *lock.mutex();
  if (pthread_mutex_timedlock(mutex.native_handle(), &end) != 0) return false;
  lock = std::unique_lock<std::mutex>(mutex, std::adopt_lock);
  return true;
}

absl::StatusOr<Machine*> Machine::Make() {
  ASSIGN_OR_RETURN(Settings settings, Settings::FromEnvironment([](const char* name) {
                     return static_cast<const char*>(std::getenv(name));
                   }));
  ASSIGN_OR_RETURN(Profile profile, settings.MakeProfile());
  of_process = new Machine(std::move(settings), std::move(profile));  // as long as the process
  return of_process;
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
  if (!settings_.trace.empty()) RETURN_IF_ERROR(OpenTrace(host));
  if (settings_.findings != FindingsMode::kOff) WatchFindings(host);  // last: nothing fails now
  return absl::OkStatus();
}

void Machine::WatchFindings(Host& host) {
  // A forked child lets the copy of its parent's be.
  if (findings_ != nullptr && !findings_->mine()) static_cast<void>(findings_.release());
  if (findings_ == nullptr) findings_ = std::make_unique<Findings>(settings_.findings_file);
  findings_->Watch(host);
  if (!settings_.findings_file.empty()) BeforeDeathBySignal(&Machine::OnSignal);
}

absl::Status Machine::OpenTrace(Host& host) {
  // A forked child lets the copy of its parent's trace be.
  if (trace_ != nullptr && !trace_->mine()) static_cast<void>(trace_.release());
  // Of a machine that is just leaving: its deleter waits for the mutex that is held here.
  if (trace_ != nullptr) {
    const std::lock_guard world(traced_->mutex());
    EndTrace();
  }
  BeforeDeathBySignal(&Machine::OnSignal);  // before the trace looks at signals itself
  if (living_ != getpid()) lives_ = 0;      // those of a forked child's parent
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
bool Machine::Leaves(Host& host) {
  if (settings_.trace.empty() && findings_ == nullptr) return true;
  std::unique_lock lock(mutex_, std::defer_lock);
  if (!LockSoon(lock)) return false;
  const std::lock_guard world(host.mutex());
  if (findings_ != nullptr && findings_->mine()) findings_->Leave(Findings::End::kLeaves);
  if (traced_ == &host && trace_ != nullptr && trace_->mine()) EndTrace();
  if (traced_ == &host) traced_ = nullptr;
  return true;
}

// Registered before everything else that happens at the end of the process, so that it comes last:
// until then libraries of the program's, libfabric among them, close what they have opened.
[[gnu::constructor]] static void ListenToTheEnd() {
  on_exit(
      [](int status, void*) {
        if (of_process == nullptr) return;
        const int end = of_process->End(status);
        if (end == status) return;
        std::fflush(nullptr);
        _exit(end);
      },
      nullptr);
}

int Machine::End(int status) {
  const Unhurried unhurried;
  std::shared_ptr<Host> host;  // goes after the lock: its deleter takes it, too
  std::unique_lock lock(mutex_, std::defer_lock);
  if (!LockSoon(lock) || findings_ == nullptr || !findings_->mine()) return status;
  host = host_.lock();
  if (host != nullptr && host->usable()) {
    std::unique_lock world(host->mutex(), std::defer_lock);
    if (!LockSoon(world)) return status;
    findings_->Leave(status == 0 ? Findings::End::kExits : Findings::End::kFails);
  }
  findings_->Report();
  const bool fails = settings_.findings == FindingsMode::kFail && findings_->count() > 0;
  return fails && status == 0 ? 1 : status;
}

// A program that ends without closing its devices has a trace, too.
void Machine::AtExit() {
  Machine& machine = **Get();
  const Unhurried unhurried;
  std::shared_ptr<Host> host;  // goes after the lock: its deleter takes it, too
  std::unique_lock lock(machine.mutex_, std::defer_lock);
  if (!LockSoon(lock)) return;  // whoever opens a device may be the one who ends
  host = machine.host_.lock();
  if (host == nullptr || !host->usable()) return;
  std::unique_lock world(host->mutex(), std::defer_lock);
  if (!LockSoon(world)) return;
  if (machine.traced_ == host.get()) machine.trace_.reset();
}

void Machine::OnSignal() {
  AtExit();
  (*Get())->End(EXIT_FAILURE);  // it had no time to close anything
}

absl::StatusOr<std::shared_ptr<Host>> Machine::Open() {
  const Unhurried unhurried;
  std::shared_ptr<Host> open;  // goes after the lock: its deleter takes it, too
  const std::lock_guard lock(mutex_);
  // A forked child has a copy of its parent's that it cannot use: it joins by itself.
  open = host_.lock();
  if (open != nullptr && open->usable()) return open;
  ASSIGN_OR_RETURN(std::unique_ptr<Host> host,
                   Host::Join({.fabric = settings_.fabric,
                               .seed = settings_.seed,
                               .profile = &profile_,
                               .zone = settings_.zone,
                               .checks = settings_.findings != FindingsMode::kOff,
                               .network = settings_.network,
                               .key_file = settings_.key}));
  {
    const std::lock_guard world(host->mutex());
    RETURN_IF_ERROR(Prepare(*host));
  }
  std::shared_ptr<Host> shared(host.release(), [this](Host* leaving) {
    const Unhurried leaves;
    if (Leaves(*leaving)) delete leaving;
  });
  host_ = shared;
  return shared;
}

}  // namespace sim::verbs
