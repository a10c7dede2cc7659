// The simulated world: its clock, what will happen in it, and the machines that are in it.
//
// Two ways to drive it. In virtual time (the default; tests) there is one thread, discrete events
// and virtual nanoseconds. Time passes in two ways only: a program that has nothing to do waits
// (WaitUntil, called by its event loop) and the world runs on to the next thing that happens; and
// the program's own work on the NIC costs time (Charge, called by the backend for each post and
// poll). Everything random is drawn from the seed: the same seed and the same program give the same
// events at the same times.
//
// In live mode the clock is the machine's, devices work while the program polls, and packets take
// no time: for throughput. Bounds, rights, limits and errors are the same; packets and work
// requests are still placed in any order. A live run is not deterministic.

#ifndef SIM_WORLD_H_
#define SIM_WORLD_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "coro/clock.h"
#include "coro/steady_clock.h"
#include "coro/time.h"
#include "fabric/faults/engine.h"
#include "fabric/peer_memory.h"
#include "sim/checks/checks.h"
#include "sim/checks/wait_graph.h"
#include "sim/device_listener.h"
#include "sim/efa_address.h"
#include "sim/event_log.h"
#include "sim/event_queue.h"
#include "sim/memory_bus.h"
#include "sim/nic.h"
#include "sim/node.h"
#include "sim/numa.h"
#include "sim/operation_table.h"
#include "sim/processors.h"
#include "sim/profile.h"
#include "sim/remote_port.h"
#include "sim/scheduler.h"
#include "sim/wire.h"

namespace sim {

class FaultModel;

enum class TimeMode : std::uint8_t { kVirtual, kLive };

// Not thread-safe. Outlives every fabric that was opened on it.
class World final : public coro::Clock {
 public:
  // Where virtual time begins: not at zero, see coro::Clock.
  static constexpr coro::Time kStart = coro::Time(std::chrono::seconds(1));

  // `profile` outlives the world.
  World(std::uint64_t seed, const Profile& profile, TimeMode mode = TimeMode::kVirtual);
  ~World() override;
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  std::uint64_t seed() const { return seed_; }
  const Profile& profile() const { return profile_; }
  bool live() const { return live_; }

  // Adds a machine of the world's profile, or of another one, which outlives the world. The world
  // owns it.
  Node& AddNode(std::string name) { return AddNode(std::move(name), profile_); }
  Node& AddNode(std::string name, const Profile& profile);
  // Adds one that stands in a network of several worlds.
  Node& AddNode(std::string name, const Profile& profile, const NodeIdentity& identity);
  // Adds a NIC of another world. `identity`: machine << 16 | number. It is not alive yet.
  Nic& AddProxy(std::string name, std::uint64_t identity, const NicOrigin& origin);
  // Asked from now on for NICs that this world lacks; null: nobody. Outlives the world's use.
  void UseNeighbours(Neighbours* neighbours) { neighbours_ = neighbours; }

  // Nothing passes from one machine to the other from now on, as when a security group lacks a
  // rule; Unblock ends it.
  void Block(Node& from, Node& to);
  void Unblock(Node& from, Node& to);

  // From now on the devices apply the engine's rules for Layer::kDevice: those of DeviceFaults().
  // The engine may be shared with a fabric::faults::FaultyFabric above. REQUIRES: no fabric was
  // opened yet. kUnimplemented: in live mode nothing of a plan is applied.
  absl::Status UseFaultEngine(std::shared_ptr<fabric::faults::FaultEngine> engine);

  // Memory of this device may be registered with every NIC from now on: by its address and kind, or
  // by its dmabuf. Outlives the world.
  void AttachDevice(fabric::PeerMemoryClient& device) { bus_.Attach(device); }

  // From now on the scheduler decides what the network does next, and no time is drawn for it; see
  // sim/scheduler.h. It outlives the world. REQUIRES: virtual time; nothing was opened yet.
  void UseScheduler(Scheduler& scheduler);
  // What is on the network and waits to be picked, also of what has ended meanwhile.
  std::vector<Step> StepsUnderWay() const;

  // --- coro::Clock ---
  coro::Time Now() const override {
    asked_time_ = true;
    return live_ ? steady_.Now() : now_;
  }
  // Runs what happens, until something happened that a program can see, or `deadline`.
  bool WaitUntil(coro::Time deadline) override;
  bool IsVirtual() const override { return !live_; }

  // Time since the start.
  coro::Duration Elapsed() const { return Now() - start_; }

  // Runs for `duration`, or until `done` holds after some event; returns whether it holds. For
  // tests without a loop, in virtual time.
  bool RunUntil(const std::function<bool()>& done, coro::Duration duration);
  void RunFor(coro::Duration duration);

  // The same time, for what stands between a program and the backend: a look at this clock is not
  // the program's.
  const coro::Clock& backstage() const { return backstage_; }

  // Who waits for whom, as far as posts and completions tell: empty in live mode.
  WaitGraph DescribeWaits();
  // The program does something for ever: called once, with the graph. Without a handler both go to
  // standard error. In both cases it is a finding.
  using EndlessHandler = std::function<void(EndlessLoop loop, const WaitGraph& graph)>;
  void OnEndlessLoop(EndlessHandler handler) { endless_loop_ = std::move(handler); }

  // --- For the backend and the actors ---
  // The program has looked into a queue or counter and found nothing: virtual time only.
  void FoundNothing() {
    if (UnderWay() || std::exchange(asked_time_, false)) {
      checks_.progress().Reset();
    } else if (checks_.progress().InVain()) [[unlikely]] {
      PollsInVain();
    }
  }
  // Tells the handler.
  void NeverReturns(EndlessLoop loop);
  // The program computes for `cost`; in live mode it does so by itself.
  void Charge(coro::Duration cost, std::size_t times = 1) {
    if (!live_) Advance(now_ + cost * static_cast<std::int64_t>(times));
  }
  // Live mode: every device does what it can do now. Called by polls.
  void Progress() {
    while (!busy_.empty()) {  // what one does may make others busy
      Nic* nic = busy_.back();
      busy_.pop_back();
      nic->Progress();
    }
    if (!events_.empty()) RunDueEvents();
  }
  // Live mode: this device has work. REQUIRES: it has not been added since it was served.
  void AddBusy(Nic& nic) { busy_.push_back(&nic); }
  void Schedule(coro::Time time, Actor* actor, EventKind kind, std::uint32_t a, std::uint64_t b) {
    if (scheduling_ != nullptr && TakeIntoPool(actor, kind, a, b)) [[unlikely]] {
      return;
    }
    events_.Push(time, actor, kind, a, b);
  }
  // The same for what happens at that time whoever schedules: a fault that delays something.
  void ScheduleAt(coro::Time time, Actor* actor, EventKind kind, std::uint32_t a, std::uint64_t b) {
    events_.Push(time, actor, kind, a, b);
  }
  // Who can reach whom may be another than before: an address handle, a queue pair, a machine, a
  // block came or went. Never 0.
  void NoteChange() { ++changes_; }
  std::uint64_t changes() const { return changes_; }
  // Something happened that a program can see.
  void Wake() { woken_ = true; }
  // Whether it did since this was asked; for who runs the world by RunFor.
  bool TakeWake() { return std::exchange(woken_, false); }
  // kNever: nothing is going to happen by itself.
  coro::Time NextEvent() const { return events_.empty() ? coro::kNever : events_.top().time; }
  // Wakes whoever waits for the world at `time`: for drivers with timers of their own.
  void WakeAt(coro::Time time) { Schedule(time, &chores_, EventKind::kAlarm, 0, 0); }
  // Null when no machine has this GID.
  Nic* FindNic(const Gid& gid);
  std::size_t nic_count() const { return nics_.size(); }
  Nic& nic(std::uint32_t index) { return *nics_[index]; }
  const Nic& nic(std::uint32_t index) const { return *nics_[index]; }
  OperationTable& operations() { return operations_; }
  Checks& checks() { return checks_; }
  Wire& wire() { return wire_; }
  MemoryBus& bus() { return bus_; }
  // Where memory and threads are; programs place theirs.
  Numa& numa() { return numa_; }
  // Which CPU threads drive the NICs; programs say so of theirs.
  Processors& processors() { return processors_; }
  FaultModel* faults() { return faults_.get(); }  // null: no fault plan

  // The rules that the program broke, in the order of the first time. Valid until the next event.
  std::span<const Finding> findings() const { return checks_.findings(); }

  // For whoever runs a program, in virtual time: every request that should have completed by now
  // did.
  void CheckRequests();
  // The program is over, and has closed what it opened; the requests of what it has not, too.
  void CheckEnd();

  // Events that have happened.
  std::uint64_t event_count() const { return event_count_; }
  // Everything that happened; empty in live mode, where no run is like another.
  EventLog& log() { return log_; }
  // Told what the log does not tell; null: nobody. Outlives the world, or is taken away before.
  void set_device_listener(DeviceListener* listener) { device_listener_ = listener; }
  DeviceListener* device_listener() const { return device_listener_; }
  const Digest& digest() const { return log_.digest(); }
  // Enters into the log what came of an event, or what the program did.
  void Log(LoggedEvent event) {
    if (live_) return;
    event.time = now_ - start_;
    log_.Append(event);
  }

 private:
  void Enter(Nic& nic);
  bool UnderWay() const;
  void PollsInVain();
  // Runs everything up to `time`, and sets the clock to it.
  void Advance(coro::Time time);
  void RunNext();
  void Happen(const Event& event);
  void RunDueEvents();

  class Backstage final : public coro::Clock {
   public:
    explicit Backstage(World& world) : world_(world) {}
    coro::Time Now() const override { return world_.live_ ? world_.steady_.Now() : world_.now_; }
    bool WaitUntil(coro::Time deadline) override { return world_.WaitUntil(deadline); }
    bool IsVirtual() const override { return world_.IsVirtual(); }

   private:
    World& world_;
  };

  // --- scheduling.cc ---
  struct Scheduling;  // what a scheduler has before it: sim/scheduling.h
  bool TakeIntoPool(Actor* actor, EventKind kind, std::uint32_t a, std::uint64_t b);
  bool StepScheduled(coro::Time deadline);
  std::optional<std::size_t> PickStep();
  void RunStep(const Step& picked);
  void AdvanceScheduled(coro::Time time);

  // What is nobody's in particular: alarms, and devices that begin to see what was written to their
  // memory (no program can tell by itself).
  class Chores final : public Actor {
   public:
    explicit Chores(World& world) : world_(world) {}
    std::uint32_t index() const override { return kNoActor; }
    void OnEvent(const Event& event) override {
      event.kind == EventKind::kAlarm ? world_.Wake() : world_.bus_.BecomeVisible(event.b);
    }

   private:
    World& world_;
  };

  const std::uint64_t seed_;
  const Profile& profile_;
  const bool live_;
  coro::SteadyClock steady_;
  const coro::Time start_;
  coro::Time now_;
  EventQueue events_;
  Chores chores_{*this};
  Backstage backstage_{*this};
  Wire wire_;
  Numa numa_;
  Processors processors_{*this};
  OperationTable operations_;
  MemoryBus bus_{[this](std::uint64_t number, coro::Duration delay) {
    ScheduleAt(coro::After(backstage_.Now(), delay), &chores_, EventKind::kVisible, 0, number);
  }};
  Checks checks_{now_, kStart, bus_};
  std::uint64_t changes_ = 1;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<Nic>> proxies_;
  std::vector<Nic*> nics_;  // index = Nic::index()
  Neighbours* neighbours_ = nullptr;
  std::map<Gid, Nic*> by_gid_;
  std::vector<Nic*> busy_;  // live mode: devices with work to do
  std::uint64_t event_count_ = 0;
  EventLog log_;
  DeviceListener* device_listener_ = nullptr;
  bool woken_ = false;
  mutable bool asked_time_ = false;  // since it was last looked at
  EndlessHandler endless_loop_;
  std::unique_ptr<FaultModel> faults_;
  std::unique_ptr<Scheduling> scheduling_;  // null: times are drawn
};

}  // namespace sim

#endif  // SIM_WORLD_H_
