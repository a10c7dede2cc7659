#include "drydock/sim/verbs/machine.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/sim/hosts/forks.h"
#include "drydock/sim/random.h"
#include "drydock/sim/verbs/fault_plan.h"
#include "drydock/sim/verbs/lost_memory.h"
#include "drydock/sim/verbs/refusal.h"
#include "drydock/sim/verbs/termination.h"

namespace drydock::sim::verbs {
namespace {

// Null: the process lives by the machine's clock.
VirtualTime* FindVirtualTime() {
  using Function = VirtualTime*();
  void* const found = dlsym(RTLD_DEFAULT, kVirtualTimeFunction);
  return found == nullptr ? nullptr : reinterpret_cast<Function*>(found)();
}

// Set once, and read where the process ends.
Machine* of_process = nullptr;
pid_t made_by = 0;

std::mutex first_use;

// What this thread holds while it forks.
struct OverFork {
  const TerminationDelay* termination_delay;  // goes last: signals wait until mutexes are free
  std::mutex* first_use;
  std::mutex* machine;
  std::mutex* refusals;
};
constinit thread_local OverFork over_fork{};

// The process is ending, with another exit status than 0. Destructors close devices after that,
// libfabric's among them, with all that the program had no time to close; so may other threads.
std::atomic<bool> has_failed = false;

void ListenForFailure() {
  on_exit([](int status, void*) { has_failed = status != 0; }, nullptr);
}

}  // namespace

void Say(const std::string& line) { std::fprintf(stderr, "drydock-efa: %s\n", line.c_str()); }

std::mutex& MutexOfFirstUse() { return first_use; }

bool LockSoon(std::unique_lock<std::mutex>& lock) {
  if (lock.try_lock()) return true;
  // One thread: it has the mutex itself. And its clock is none that the kernel waits by.
  if (FindVirtualTime() != nullptr) return false;
  // In naps: ThreadSanitizer of Clang 14 does not see what takes a mutex by a deadline of the
  // monotonic clock. Time goes on while a program is stopped: of a nap, ten milliseconds count.
  constexpr std::chrono::steady_clock::duration kMostOfNap = std::chrono::milliseconds(10);
  const bool in_vain = TerminationDelay::nested() || (of_process != nullptr && getpid() != made_by);
  std::chrono::steady_clock::duration left = std::chrono::seconds(in_vain ? 1 : 60);
  auto before = std::chrono::steady_clock::now();
  while (left.count() > 0) {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    if (lock.try_lock()) return true;
    const auto now = std::chrono::steady_clock::now();
    left -= std::min(now - std::exchange(before, now), kMostOfNap);
  }
  return false;
}

absl::StatusOr<Machine*> Machine::Make() {
  ASSIGN_OR_RETURN(Settings settings, Settings::FromEnvironment([](const char* name) {
                     return static_cast<const char*>(std::getenv(name));
                   }));
  ASSIGN_OR_RETURN(Profile profile, settings.MakeProfile());
  made_by = getpid();
  of_process = new Machine(std::move(settings), std::move(profile));  // as long as the process
  // Comes before the destructors of libraries, for these were there when it was registered, and
  // after that of a static object whose constructor opens the device. exit destroys objects of its
  // thread before all of them, and what is registered then comes first: but only where exit is
  // called by this thread.
  ListenForFailure();
  struct Last {
    ~Last() { ListenForFailure(); }
  };
  static thread_local Last last;
  if (of_process->settings_.virtual_process == 0) return of_process;
  of_process->time_ = FindVirtualTime();
  if (of_process->time_ == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat(kVirtualVariable, " is set, and libdrydock_time.so is not loaded"));
  }
  of_process->time_->OnHang([](const char* why) {
    Say(absl::StrCat("hang: ", why));
    if (of_process->recorder_ != nullptr) of_process->recorder_->Hangs(why);
    std::fflush(nullptr);
    if (!of_process->settings_.trace.empty()) AtExit();
    _exit(of_process->End(VirtualTime::kHangs));
  });
  return of_process;
}

const absl::StatusOr<Machine*>& Machine::Get() {
  // No static object's first use: a child that was forked off within that would wait for it.
  static constinit std::atomic<const absl::StatusOr<Machine*>*> machine = nullptr;
  const absl::StatusOr<Machine*>* made = machine.load(std::memory_order_acquire);
  if (made != nullptr) return *made;
  const TerminationDelay termination_delay;
  const std::lock_guard lock(MutexOfFirstUse());
  made = machine.load(std::memory_order_relaxed);
  if (made != nullptr) return *made;
  made = new absl::StatusOr<Machine*>(Make());
  if (!made->ok()) Say(std::string(made->status().message()));
  machine.store(made, std::memory_order_release);
  return *made;
}

// ---- Forks ----

// In this order, which is that of their holders. One that never comes (see LockSoon) stays as it
// is.
void Machine::HoldOverFork() {
  over_fork.termination_delay = new TerminationDelay;
  const auto hold = [](std::mutex& mutex) {
    std::unique_lock lock(mutex, std::defer_lock);
    return LockSoon(lock) ? lock.release() : nullptr;
  };
  over_fork.first_use = hold(MutexOfFirstUse());
  over_fork.machine = of_process == nullptr ? nullptr : hold(of_process->mutex_);
  over_fork.refusals = hold(MutexOfRefusals());
}

void Machine::LetGoAfterFork() {
  for (std::mutex* const mutex : {over_fork.refusals, over_fork.machine, over_fork.first_use}) {
    if (mutex != nullptr) mutex->unlock();
  }
  delete std::exchange(over_fork, {}).termination_delay;
}

[[gnu::constructor]] void Machine::ListenToForks() {
  AroundForks(&HoldOverFork, &LetGoAfterFork, &LetGoAfterFork);
}

absl::Status Machine::Prepare(Host& host) {
  ExplainLostMemory();
  if (!settings_.faults.empty()) {
    ASSIGN_OR_RETURN(faults_, LoadFaults(settings_.faults, settings_.seed));
    host.world().UseFaultEngine(faults_);
    if (time_ == nullptr) {
      for (const std::string& line : IdleBetweenProcesses(faults_->plan())) SayOnce(line);
    }
  }
  if (!settings_.record.empty()) {
    if (recorder_ == nullptr) {
      ASSIGN_OR_RETURN(recorder_, RunRecorder::Open(settings_.record));
    }
    recorder_->Begin(host.world(), faults_.get(),
                     coro::Duration(time_->now() - VirtualTime::kBegin));
  }
  if (!settings_.trace.empty()) {
    const absl::Status status = OpenTrace(host);
    if (!status.ok() && recorder_ != nullptr) recorder_->Leave();  // the host goes
    RETURN_IF_ERROR(status);
  }
  if (settings_.findings != FindingsMode::kOff) WatchFindings(host);  // last: nothing fails now
  return absl::OkStatus();
}

void Machine::WatchFindings(Host& host) {
  // A forked child lets the copy of its parent's be.
  if (findings_ != nullptr && !findings_->mine()) static_cast<void>(findings_.release());
  if (findings_ == nullptr) findings_ = std::make_unique<Findings>(settings_.findings_file);
  // As with the trace: a machine that is just leaving.
  if (Host* const leaving = findings_->watched(); leaving != nullptr) {
    const std::lock_guard world(leaving->mutex());
    findings_->Leave(Findings::End::kLeaves);
  }
  findings_->Watch(host);
  // In virtual time there is one thread, and no other that could wait for the signal.
  if (!settings_.findings_file.empty() && time_ == nullptr) {
    BeforeTermination(&Machine::OnSignal);
  }
}

absl::Status Machine::OpenTrace(Host& host) {
  // A forked child lets the copy of its parent's trace be.
  if (trace_ != nullptr && !trace_->mine()) static_cast<void>(trace_.release());
  // Of a machine that is just leaving: its deleter waits for the mutex that is held here.
  if (trace_ != nullptr) {
    const std::lock_guard world(traced_->mutex());
    EndTrace();
  }
  // Before the trace looks at signals itself.
  if (time_ == nullptr) BeforeTermination(&Machine::OnSignal);
  if (living_ != getpid()) lives_ = 0;  // those of a forked child's parent
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
  if (settings_.trace.empty() && findings_ == nullptr && time_ == nullptr) return true;
  std::unique_lock lock(mutex_, std::defer_lock);
  if (!LockSoon(lock)) return false;
  const std::lock_guard world(host.mutex());
  if (findings_ != nullptr && findings_->mine() && findings_->watched() == &host) {
    findings_->Leave(has_failed ? Findings::End::kFails : Findings::End::kLeaves);
  }
  if (traced_ == &host && trace_ != nullptr && trace_->mine()) EndTrace();
  if (traced_ == &host) traced_ = nullptr;
  if (time_ != nullptr) AddDigest(host);
  return true;
}

void Machine::AddDigest(Host& host) {
  if (recorder_ != nullptr) recorder_->Leave();
  const Digest& digest = host.world().digest();
  digest_.high = Combine(digest_.high, digest.high);
  digest_.low = Combine(digest_.low, digest.low);
  events_ += host.world().log().count();
}

void Machine::TellEnd(const std::string& check) {
  if (recorder_ != nullptr) recorder_->End(digest_, events_, check);
  if (!settings_.digest) return;
  Say(absl::StrCat("digest ", digest_.ToHex(), ", ", events_, " events, ",
                   (time_->now() - VirtualTime::kBegin) / 1'000'000, " ms"));
}

// Registered before everything else that happens at the end of the process, so that it comes last:
// until then libraries of the program's, libfabric among them, close their objects.
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
  const TerminationDelay termination_delay;
  std::shared_ptr<Host> host;  // goes after the lock: its deleter takes it, too
  std::unique_lock lock(mutex_, std::defer_lock);
  const bool watches = findings_ != nullptr && findings_->mine();
  const bool is_virtual = time_ != nullptr && settings_.virtual_process == getpid();
  if (!LockSoon(lock) || (!watches && !is_virtual)) return status;
  host = host_.lock();
  if (host != nullptr && host->usable()) {
    std::unique_lock world(host->mutex(), std::defer_lock);
    // In virtual time a call that is under way can come to its end here: the mutex is its own.
    if (!LockSoon(world) && !is_virtual) return status;
    if (watches) findings_->Leave(status == 0 ? Findings::End::kExits : Findings::End::kFails);
    if (is_virtual) AddDigest(*host);
  }
  const bool fails =
      watches && status == 0 && settings_.findings == FindingsMode::kFail && findings_->count() > 0;
  if (is_virtual) TellEnd(fails ? findings_->first_check() : "");
  if (watches) findings_->Report();
  return fails ? 1 : status;
}

// A program that ends without closing its devices has a trace, too.
void Machine::AtExit() {
  Machine& machine = **Get();
  const TerminationDelay termination_delay;
  std::shared_ptr<Host> host;  // goes after the lock: its deleter takes it, too
  std::unique_lock lock(machine.mutex_, std::defer_lock);
  if (!LockSoon(lock)) return;  // the thread that opens a device may be the one that ends
  host = machine.host_.lock();
  if (host == nullptr || !host->usable()) return;
  std::unique_lock world(host->mutex(), std::defer_lock);
  if (!LockSoon(world) && machine.time_ == nullptr) return;  // see End
  if (machine.traced_ == host.get()) machine.trace_.reset();
}

void Machine::OnSignal() {
  AtExit();
  (*Get())->End(EXIT_FAILURE);  // it had no time to close anything
}

// A program opens one NIC after the other, and where there is no rendezvous each would wait for it
// as long as the first.
absl::StatusOr<std::unique_ptr<Host>> Machine::Join() {
  constexpr auto kSameAnswer = std::chrono::seconds(5);
  const bool is_known =
      !alone_.ok() && alone_process_ == getpid() && std::chrono::steady_clock::now() < alone_until_;
  if (is_known) return alone_;
  absl::StatusOr<std::unique_ptr<Host>> host =
      Host::Join({.fabric = settings_.fabric,
                  .seed = settings_.seed,
                  .profile = &profile_,
                  .zone = settings_.zone,
                  .checks = settings_.findings != FindingsMode::kOff,
                  .network = settings_.network,
                  .key_file = settings_.key,
                  .virtual_time = time_,
                  .life = worlds_++});
  alone_ = absl::OkStatus();
  if (!settings_.network.empty() && absl::IsUnavailable(host.status())) {
    alone_ = host.status();
    alone_until_ = std::chrono::steady_clock::now() + kSameAnswer;
    alone_process_ = getpid();
  }
  return host;
}

absl::StatusOr<std::shared_ptr<Host>> Machine::Open() {
  const TerminationDelay termination_delay;
  std::shared_ptr<Host> open;  // goes after the lock: its deleter takes it, too
  const std::lock_guard lock(mutex_);
  // A forked child has a copy of its parent's that it cannot use: it joins by itself.
  open = host_.lock();
  if (open != nullptr && open->usable()) return open;
  if (time_ != nullptr && getpid() != settings_.virtual_process) {
    Say("--virtual is for programs of one process, and another one opens a device");
    std::fflush(nullptr);
    _exit(2);
  }
  ASSIGN_OR_RETURN(std::unique_ptr<Host> host, Join());
  {
    const std::lock_guard world(host->mutex());
    RETURN_IF_ERROR(Prepare(*host));
  }
  std::shared_ptr<Host> shared(host.release(), [this](Host* leaving) {
    const TerminationDelay leaves;
    if (Leaves(*leaving)) delete leaving;
  });
  host_ = shared;
  return shared;
}

}  // namespace drydock::sim::verbs
