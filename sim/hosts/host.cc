#include "drydock/sim/hosts/host.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/steady_clock.h"
#include "drydock/sim/checks/checks.h"
#include "drydock/sim/hosts/bell.h"
#include "drydock/sim/hosts/directory.h"
#include "drydock/sim/hosts/forks.h"
#include "drydock/sim/hosts/gid.h"
#include "drydock/sim/hosts/host_counters.h"
#include "drydock/sim/hosts/host_impl.h"
#include "drydock/sim/hosts/network.h"
#include "drydock/sim/hosts/processor.h"
#include "drydock/sim/hosts/sockets/far_machines.h"
#include "drydock/sim/hosts/sockets/socket.h"
#include "drydock/sim/random.h"

namespace drydock::sim {
namespace {

// Initial-exec: a signal handler finds it without an allocation.
[[gnu::tls_model("initial-exec")]] constinit thread_local bool is_hosts_thread = false;

using namespace std::chrono_literals;

// As long as the program has progressed within this time, it looks after everything itself.
constexpr coro::Duration kProgramsTurn = 1ms;
// The thread does not go to sleep for less.
constexpr coro::Duration kShortest = 20us;
// How often it checks that the processes that something depends on are alive.
constexpr coro::Duration kPulse = 10ms;
// How often it retries messages that found no room.
constexpr coro::Duration kRetry = 100us;
// Where other threads want the processor it sleeps for so long instead of spinning. To fall asleep
// and wake up costs a virtual machine some 20 us of processor time, and a thread that takes more
// than a fair share is not scheduled at once any more, but at the next tick, milliseconds later:
// with naps of 5 us it spends most of its time waiting for that.
constexpr coro::Duration kNap = 50us;
// Events within this time are shown to others at once.
constexpr coro::Duration kStep = 20us;
// The longest that other threads wait for the mutex.
constexpr coro::Duration kLongestTurn = 500us;
// Memory that is watched is looked at without a pause for so long after something was there; later
// with pauses that grow up to a millisecond.
constexpr coro::Duration kAttention = 2ms;
constexpr coro::Duration kLongestPause = 1ms;
// Answers that are on their way reach others before the host leaves, within this time. Time goes on
// while a process has no processor: from one look to the next, so much of it counts.
constexpr coro::Duration kFarewell = 100ms;
constexpr coro::Duration kMostOfLook = 1ms;

bool CrossMemoryIsOff() {
  const char* value = std::getenv("DRYDOCK_EFA_CROSS_MEMORY");
  return value != nullptr && std::string(value) == "0";
}

NodeIdentity IdentityOf(std::uint64_t fabric, std::uint8_t slot, const HostOptions& options) {
  NodeIdentity identity{.machine = slot, .gids = {}, .zone = options.zone};
  for (std::size_t i = 0; i < options.profile->nics.size(); ++i) {
    identity.gids.push_back(GidOf(fabric, {.machine = slot, .nic = static_cast<std::uint8_t>(i)}));
  }
  return identity;
}

std::uint64_t RandomWord() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

// The same for all machines that share memory.
std::uint64_t HostOf(const HostOptions& options) {
  return options.shared_memory ? HostNumber() : RandomWord();
}

}  // namespace

namespace {

// A machine among others, on the machine's clock.
class Networked final : public Host::Impl, public ForkAware {
 public:
  // `far`: null where the network is of this computer.
  Networked(const HostOptions& options, std::uint64_t fabric, std::unique_ptr<FarMachines> far,
            std::unique_ptr<Directory> directory)
      : directory_(std::move(directory)),
        far_(std::move(far)),
        // A machine's draws are its own, and its successor's are others: so are its qkeys.
        world_(Combine(Combine(options.seed, directory_->slot()), directory_->incarnation()),
               *options.profile, {.checks = options.checks, .guest = true, .log = false}),
        node_(world_.AddNode(absl::StrCat("machine-", directory_->slot()), *options.profile,
                             IdentityOf(fabric, directory_->slot(), options))),
        network_(world_, node_, *directory_, far_.get(), fabric,
                 options.cross_memory && !CrossMemoryIsOff()),
        bell_(directory_->mine().bell),
        began_(clock_.Now()) {
    MachineSlot& slot = directory_->mine();
    slot.pid.store(getpid());
    slot.word_address.store(reinterpret_cast<std::uint64_t>(&word_));
    slot.word.store(word_);
    slot.zone.store(options.zone);
    directory_->Announce();
    world_.checks().rules().real_time = options.checks;
    if (far_ != nullptr) far_->OnArrival([&slot] { Bell(slot.bell).Ring(); });
    WatchForks(*this);
    Start();
  }

  ~Networked() override {
    Stop();
    const std::lock_guard lock(mutex_);
    report_ = nullptr;
    coro::Duration left = kFarewell;
    coro::Time before = clock_.Now();
    Advance(before);
    while (network_.owes() && left > coro::Duration::zero()) {
      std::this_thread::yield();
      const coro::Time now = clock_.Now();
      left -= std::min(now - std::exchange(before, now), kMostOfLook);
      Advance(now);
    }
    UnwatchForks(*this);  // last: a child of now does not keep the machine's place
  }

  // --- ForkAware ---
  void InChild() override {
    usable_.store(false, std::memory_order_relaxed);
    directory_->Abandon();
    if (far_ != nullptr) far_->Abandon();
  }

  std::mutex& mutex() override { return mutex_; }
  World& world() override { return world_; }
  Node& node() override { return node_; }
  bool in_virtual_time() const override { return false; }
  bool usable() const override { return usable_.load(std::memory_order_relaxed); }
  void OnCompletion(std::function<void()> report) override { report_ = std::move(report); }

  int Watch(std::function<bool()> glance) override {
    glances_.emplace(++last_glance_, std::move(glance));
    found_ = clock_.Now();
    bell_.Interrupt();
    return last_glance_;
  }
  void Unwatch(int number) override { glances_.erase(number); }

  bool Progress() override {
    if (!usable()) return false;
    const coro::Time now = clock_.Now();  // once: a program that spins calls this all the time
    const bool happened = Advance(now);
    progressed_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
    if (bell_.asleep()) WakeThread(now);
    return happened;
  }

  void Posted() override {
    if (!usable()) return;
    // Where nothing takes time, the neighbour has the posted requests by now, and no event is to
    // come.
    network_.Flush();
    Report();  // of what completed within the call
    if (bell_.asleep()) WakeThread(clock_.Now());
  }

  void Kick() override {
    if (!usable()) return;
    progressed_.store(kLongAgo, std::memory_order_relaxed);
    bell_.Interrupt();
  }

  bool resting() const override { return bell_.asleep() && planned_ == coro::kNever; }

  HostCounters counters() const override {
    HostCounters counters = network_.counters();
    counters.thread_turns = turns_;
    return counters;
  }

 private:
  static constexpr std::int64_t kLongAgo = INT64_MIN / 2;

  void Report() {
    if (world_.timeline().TakeWake() && report_) report_();
  }

  // If it sleeps longer than it may by now.
  void WakeThread(coro::Time now) {
    if (Due(now) < planned_) bell_.Interrupt();
  }

  // When there is something to do although nothing comes from outside.
  coro::Time Due(coro::Time now) const {
    coro::Time due = Until(world_.timeline().next_event());
    if (far_ != nullptr) due = std::min(due, far_->due());
    if (network_.busy()) due = std::min(due, now + kPulse);
    if (network_.has_waiting()) due = std::min(due, now + kRetry);
    return due;
  }

  // The world's time at which an event is, on the machine's clock.
  coro::Time Until(coro::Time event) const {
    return event == coro::kNever ? coro::kNever : began_ + (event - Timeline::kStart);
  }

  bool Advance(coro::Time now) {
    const std::uint64_t events = world_.timeline().event_count();
    network_.Refresh();  // first: new posts can reach a machine that has just come
    RunTo(now);
    if (!glances_.empty() && Glance()) RunTo(clock_.Now());
    const bool took = TakeAndRun();
    if (now >= next_pulse_) {
      next_pulse_ = now + kPulse;
      network_.CheckPulses();
    }
    network_.Flush();
    Report();
    return took || world_.timeline().event_count() != events;
  }

  bool Glance() {
    bool found = false;
    for (const auto& [number, glance] : glances_) found = glance() || found;
    if (found) found_ = clock_.Now();
    return found;
  }

  // When the next glance is due.
  coro::Time NextGlance(coro::Time now) const {
    if (glances_.empty()) return coro::kNever;
    const coro::Duration quiet = now - found_;
    return quiet < kAttention ? now : now + std::min(quiet / 16, kLongestPause);
  }

  bool TakeAndRun() {
    const bool took = network_.Take();
    if (took) world_.timeline().RunFor({});
    return took;
  }

  // In steps, so that others see what happens while much happens. A world that cannot keep up goes
  // slower than the clock from then on: catching up would take ever longer turns.
  void RunTo(coro::Time begun) {
    const coro::Duration target = begun - began_;
    while (world_.timeline().elapsed() < target) {
      const coro::Duration behind = target - world_.timeline().elapsed();
      const coro::Time next = Until(world_.timeline().next_event());
      if (next > begun) return world_.timeline().RunFor(behind);
      const coro::Duration quiet = next - (begun - behind);
      world_.timeline().RunFor(std::min(behind, std::max(quiet, coro::Duration::zero()) + kStep));
      TakeAndRun();
      network_.Flush();
      if (clock_.Now() - begun < kLongestTurn) continue;
      began_ += target - world_.timeline().elapsed();
      return;
    }
  }

  // --- The thread ---
  void Start() {
    // Signals are for the program's own threads, but for what the thread itself does wrong.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) sigdelset(&all, fault);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { Run(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_setname_np(thread_.native_handle(), "drydock-efa");
  }

  void Stop() {
    stopped_.store(true, std::memory_order_seq_cst);
    bell_.Interrupt();
    thread_.join();
  }

  bool ProgramsTurn() const {
    return clock_.Now().time_since_epoch().count() - progressed_.load(std::memory_order_relaxed) <
           kProgramsTurn.count();
  }

  void Run() {
    is_hosts_thread = true;
    Processor::TakeShortTurns();
    Processor processor;
    while (!stopped_.load(std::memory_order_seq_cst)) {
      if (ProgramsTurn()) {
        bell_.PrepareToDoze();
        if (stopped_.load(std::memory_order_seq_cst)) return;
        bell_.Sleep(kProgramsTurn);
        continue;
      }
      const coro::Duration pause = Turn();
      if (pause < kShortest && processor.crowded()) {
        bell_.Sleep(kNap);
      } else if (pause < kShortest) {
        bell_.Stay();
        processor.Yield();
      } else {
        bell_.Sleep(pause);
      }
    }
  }

  // Progresses, and prepares to sleep; says for how long.
  coro::Duration Turn() {
    const std::lock_guard lock(mutex_);
    ++turns_;
    Advance(clock_.Now());
    const coro::Time now = clock_.Now();
    planned_ = std::min(Due(now), NextGlance(now));
    bell_.Prepare();
    // Messages that came before that have not rung.
    if (network_.HasIncoming() || stopped_.load(std::memory_order_seq_cst)) planned_ = now;
    if (planned_ == coro::kNever) return coro::Duration::max();
    return std::max(planned_ - now, coro::Duration::zero());
  }

  const std::uint64_t word_ = RandomWord();
  coro::SteadyClock clock_;
  std::mutex mutex_;
  const std::unique_ptr<Directory> directory_;
  const std::unique_ptr<FarMachines> far_;
  World world_;
  Node& node_;
  Network network_;
  Bell bell_;
  coro::Time began_;  // the world's beginning, on the machine's clock
  std::function<void()> report_;
  std::map<int, std::function<bool()>> glances_;
  int last_glance_ = 0;
  coro::Time found_{};  // when a glance last found something
  coro::Time next_pulse_{};
  coro::Time planned_ = coro::kNever;  // until when the thread sleeps
  std::uint64_t turns_ = 0;
  std::atomic<bool> usable_{true};
  std::atomic<bool> stopped_{false};
  std::atomic<std::int64_t> progressed_{kLongAgo};  // when the program last did
  std::thread thread_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Host>> Host::Join(const HostOptions& options) {
  if (options.profile == nullptr) return absl::InvalidArgumentError("join: no profile");
  if (options.profile->nics.size() > 256) {
    return absl::InvalidArgumentError("join: a machine has at most 256 NICs");
  }
  const std::uint64_t fabric = FabricNumber(options.fabric, options.seed);
  if (options.virtual_time != nullptr) {
    return std::unique_ptr<Host>(new Host(MakeAlone(options, IdentityOf(fabric, 0, options))));
  }
  const NetworkTerms terms = TermsOf(*options.profile);
  // A rendezvous gives away the seat of a machine that was cut off for long, which lives on here:
  // we keep such a seat, so that the next one is another.
  std::vector<std::unique_ptr<FarMachines>> taken;
  while (true) {
    std::string files = FabricFileName(fabric);
    std::unique_ptr<FarMachines> far;
    std::optional<MachinePlace> place;
    if (!options.network.empty()) {
      ASSIGN_OR_RETURN(far, FarMachines::Join({.network = options.network,
                                               .key_file = options.key_file,
                                               .fabric = fabric,
                                               .terms = terms,
                                               .host = HostOf(options)}));
      place = {.slot = far->seat().slot, .incarnation = far->seat().incarnation};
      files = FabricFileName(FabricNumber(files, far->seat().network));
    }
    absl::StatusOr<std::unique_ptr<Directory>> directory = Directory::Join(files, terms, place);
    if (directory.ok()) {
      RemoveDeadNetworks(FabricFilePrefix());
      RemoveDeadProviderFiles();
      return std::unique_ptr<Host>(new Host(
          std::make_unique<Networked>(options, fabric, std::move(far), *std::move(directory))));
    }
    const bool again = absl::IsAlreadyExists(directory.status()) && taken.size() < kMachines;
    if (!again) return directory.status();
    taken.push_back(std::move(far));
  }
}

Host::Host(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Host::~Host() {
  // In a forked child there is no thread to stop, and the parent's machine must not leave the
  // network.
  if (!impl_->usable()) (void)impl_.release();
}

std::mutex& Host::mutex() { return impl_->mutex(); }
World& Host::world() { return impl_->world(); }
Node& Host::node() { return impl_->node(); }
bool Host::Progress() { return impl_->Progress(); }
void Host::Posted() { impl_->Posted(); }
void Host::Kick() { impl_->Kick(); }
int Host::Watch(std::function<bool()> glance) { return impl_->Watch(std::move(glance)); }
void Host::Unwatch(int number) { impl_->Unwatch(number); }
void Host::OnCompletion(std::function<void()> report) { impl_->OnCompletion(std::move(report)); }
bool Host::in_virtual_time() const { return impl_->in_virtual_time(); }
bool Host::IsInItsThread() { return is_hosts_thread; }

bool Host::usable() const { return impl_->usable(); }
bool Host::resting() const { return impl_->resting(); }
HostCounters Host::counters() const { return impl_->counters(); }

}  // namespace drydock::sim
