#include <map>
#include <utility>

#include "drydock/coro/time.h"
#include "drydock/sim/checks/checks.h"
#include "drydock/sim/hosts/forks.h"
#include "drydock/sim/hosts/host_impl.h"
#include "drydock/sim/random.h"

namespace drydock::sim {
namespace {

// The world is behind the program's time between two calls, and catches up in each of them.
class Alone final : public Host::Impl, public ForkAware, public VirtualTime::Runner {
 public:
  Alone(const HostOptions& options, const NodeIdentity& identity)
      : time_(*options.virtual_time),
        began_(time_.now()),
        world_(Combine(Combine(options.seed, 0), options.life), *options.profile,
               {.checks = options.checks, .guest = true}),
        node_(world_.AddNode("machine-0", *options.profile, identity)) {
    // The program is one that was written for the machine's clock: it polls as often as it likes.
    world_.checks().rules().real_time = options.checks;
    WatchForks(*this);
    time_.Follow(this);
  }

  ~Alone() override {
    if (usable_) time_.Follow(nullptr);
    UnwatchForks(*this);
  }

  // --- ForkAware ---
  void InChild() override {
    usable_ = false;
    time_.Follow(nullptr);
  }

  // --- VirtualTime::Runner ---
  std::int64_t Run(std::int64_t deadline) override {
    const std::lock_guard lock(mutex_);
    CatchUp();
    const coro::Time until = deadline == VirtualTime::kNever ? coro::kNever : WorldTime(deadline);
    const bool ever = world_.timeline().WaitUntil(until);
    if (report_) report_();
    return ever ? ProgramTime() : VirtualTime::kNever;
  }

  // --- Host::Impl ---
  std::mutex& mutex() override { return mutex_; }
  World& world() override { return world_; }
  Node& node() override { return node_; }
  bool in_virtual_time() const override { return true; }
  bool usable() const override { return usable_; }
  void OnCompletion(std::function<void()> report) override { report_ = std::move(report); }
  int Watch(std::function<bool()> glance) override {
    glances_.emplace(++last_glance_, std::move(glance));
    return last_glance_;
  }
  void Unwatch(int number) override { glances_.erase(number); }

  bool Progress() override {
    time_.Spend(world_.profile().poll_cost);
    const std::uint64_t events = world_.timeline().event_count();
    CatchUp();
    if (world_.timeline().TakeWake() && report_) report_();
    return world_.timeline().event_count() != events;
  }
  // The next call or wait sees to it.
  void Posted() override {}
  void Kick() override {}

  HostCounters counters() const override { return {}; }
  bool resting() const override { return !world_.timeline().under_way(); }

 private:
  coro::Time WorldTime(std::int64_t program) const {
    return Timeline::kStart + coro::Duration(program - began_);
  }
  std::int64_t ProgramTime() const { return began_ + world_.timeline().elapsed().count(); }

  void CatchUp() {
    world_.timeline().RunFor(WorldTime(time_.now()) - world_.timeline().now());
    for (const auto& [number, glance] : glances_) glance();
  }

  VirtualTime& time_;
  const std::int64_t began_;  // the world's beginning, in the program's time
  std::mutex mutex_;          // of one thread: a caller that holds it already is in error
  World world_;
  Node& node_;
  std::function<void()> report_;
  std::map<int, std::function<bool()>> glances_;
  int last_glance_ = 0;
  bool usable_ = true;
};

}  // namespace

std::unique_ptr<Host::Impl> MakeAlone(const HostOptions& options, const NodeIdentity& identity) {
  return std::make_unique<Alone>(options, identity);
}

}  // namespace drydock::sim
