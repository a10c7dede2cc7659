// The simulated world: its clock, what will happen in it, and the machines that are in it.
//
// One thread, discrete events, virtual nanoseconds. Time passes in two ways only: a program that
// has nothing to do waits (WaitUntil, called by its event loop) and the world runs on to the next
// thing that happens; and the program's own work on the NIC costs time (Charge, called by the
// backend for each post and poll). Everything random is drawn from the seed: the same seed and the
// same program give the same events at the same times.

#ifndef SIM_WORLD_H_
#define SIM_WORLD_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "coro/clock.h"
#include "coro/time.h"
#include "sim/efa_address.h"
#include "sim/event_queue.h"
#include "sim/nic.h"
#include "sim/operation_table.h"
#include "sim/profile.h"

namespace sim {

// One machine, with the NICs of its profile.
class Node {
 public:
  Node(std::string name, std::vector<std::unique_ptr<Nic>> nics)
      : name_(std::move(name)), nics_(std::move(nics)) {}

  const std::string& name() const { return name_; }
  std::size_t nic_count() const { return nics_.size(); }
  Nic& nic(std::size_t index) { return *nics_[index]; }

  // The machine dies: its NICs fall silent, for good. Its program may go on calling, to no effect.
  void Kill() {
    for (const auto& nic : nics_) nic->Kill();
  }

 private:
  std::string name_;
  std::vector<std::unique_ptr<Nic>> nics_;
};

// Not thread-safe. Outlives every fabric that was opened on it.
class World final : public coro::Clock {
 public:
  // Where virtual time begins: not at zero, see coro::Clock.
  static constexpr coro::Time kStart = coro::Time(std::chrono::seconds(1));

  // `profile` outlives the world.
  World(std::uint64_t seed, const Profile& profile) : seed_(seed), profile_(profile) {}
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  std::uint64_t seed() const { return seed_; }
  const Profile& profile() const { return profile_; }

  // Adds a machine. The world owns it.
  Node& AddNode(std::string name);

  // --- coro::Clock ---
  coro::Time Now() const override { return now_; }
  // Runs what happens, until something happened that a program can see, or `deadline`.
  bool WaitUntil(coro::Time deadline) override;
  bool IsVirtual() const override { return true; }

  // Virtual time since the start.
  coro::Duration Elapsed() const { return now_ - kStart; }

  // Runs for `duration`, or until `done` holds after some event; returns whether it holds. For
  // tests without a loop.
  bool RunUntil(const std::function<bool()>& done, coro::Duration duration);
  void RunFor(coro::Duration duration);

  // --- For the backend and the actors ---
  // The program computes for `cost`.
  void Charge(coro::Duration cost) { Advance(now_ + cost); }
  void Schedule(coro::Time time, Actor* actor, std::uint32_t kind, std::uint32_t a,
                std::uint64_t b) {
    events_.Push(time, actor, kind, a, b);
  }
  // Something happened that a program can see.
  void Wake() { woken_ = true; }
  // Wakes whoever waits for the world at `time`: for drivers with timers of their own.
  void WakeAt(coro::Time time) { Schedule(time, &alarm_, 0, 0, 0); }
  // Null when no machine has this GID.
  Nic* FindNic(const Gid& gid);
  OperationTable& operations() { return operations_; }

  // Events that have happened.
  std::uint64_t event_count() const { return event_count_; }

 private:
  // Runs everything up to `time`, and sets the clock to it.
  void Advance(coro::Time time);
  void Step();

  class Alarm final : public Actor {
   public:
    explicit Alarm(World& world) : world_(world) {}
    void OnEvent(const Event&) override { world_.Wake(); }

   private:
    World& world_;
  };

  const std::uint64_t seed_;
  const Profile& profile_;
  coro::Time now_ = kStart;
  EventQueue events_;
  Alarm alarm_{*this};
  OperationTable operations_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::map<Gid, Nic*> nics_;
  std::uint64_t event_count_ = 0;
  bool woken_ = false;
};

}  // namespace sim

#endif  // SIM_WORLD_H_
