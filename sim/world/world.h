// A simulated world: its machines, the network between them, and the clock that they live by.
//
//   world ─┬─ timeline      the clock, and what will happen     sim/events
//          ├─ wire          paths, delays, losses               sim/network
//          ├─ nodes ── NICs                                     sim/machine, sim/device
//          ├─ observers ── event log, checks                    sim/events, sim/checks
//          └─ faults        a fault plan at work                sim/faults
//
// The same machines run by two clocks (sim/events/timeline.h). In virtual time (the default; tests)
// everything random is drawn from the seed: the same seed and the same program give the same events
// at the same times. On the machine's clock the devices work while the program polls; with a
// profile WithoutDelays that is as fast as it goes. Bounds, rights, limits, errors and faults are
// the same. Such a run is not deterministic: it keeps no log, and the checks are on only where they
// are asked for. The worlds of several processes (sim/hosts) have the virtual clock, and code that
// runs them as far as the machine's clock has come: not deterministic either, and without a log.

#ifndef DRYDOCK_SIM_WORLD_WORLD_H_
#define DRYDOCK_SIM_WORLD_WORLD_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "drydock/coro/clock.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/peer_memory.h"
#include "drydock/sim/checks/finding.h"
#include "drydock/sim/device/nic.h"
#include "drydock/sim/device/nic_table.h"
#include "drydock/sim/device/observers.h"
#include "drydock/sim/device/operation_table.h"
#include "drydock/sim/device/surroundings.h"
#include "drydock/sim/efa_address.h"
#include "drydock/sim/events/deferred_actions.h"
#include "drydock/sim/events/event_log.h"
#include "drydock/sim/events/scheduler.h"
#include "drydock/sim/events/timeline.h"
#include "drydock/sim/machine/node.h"
#include "drydock/sim/machine/numa.h"
#include "drydock/sim/machine/processors.h"
#include "drydock/sim/memory/memory_bus.h"
#include "drydock/sim/network/wire.h"
#include "drydock/sim/profile/profile.h"

namespace drydock::fabric::faults {
class FaultEngine;
}

namespace drydock::sim {

// Most programs name none of them, and their headers are heavy.
class Checks;
class FaultModel;
class LogWriter;

// Where a machine stands in a network of several worlds.
struct NodeIdentity {
  std::uint32_t machine = 0;  // decides what its NICs draw
  std::vector<Gid> gids;      // of each NIC; empty: drawn
  std::uint32_t zone = 0;     // availability zone: NICs reach only those of their own
};

struct WorldOptions {
  ClockKind clock = ClockKind::kVirtual;
  // False: the world's profile is taken WithoutDelays (sim/profile/profile.h).
  bool delays = true;
  // Whether the checks watch the program. Absent: in virtual time only.
  std::optional<bool> checks;
  // In a process that was not written for it, as under efa-run: any thread may enter and end the
  // world, so no thread's context owners are watched, and the heap keeps glibc's ways.
  bool guest = false;
  // Whether everything that happens is entered in the log; on the machine's clock it never is.
  bool log = true;
};

// On the machine's clock, and nothing takes longer than the simulator needs for it.
inline constexpr WorldOptions kAsFastAsItGoes{.clock = ClockKind::kReal, .delays = false};

// Not thread-safe. Outlives every fabric that was opened on it. A process that makes several worlds
// in virtual time keeps the memory that they free (freed_memory.h).
class World final : public coro::Clock {
 public:
  // `profile` outlives the world.
  World(std::uint64_t seed, const Profile& profile, const WorldOptions& options = {});
  ~World() override;
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  std::uint64_t seed() const { return around_.seed; }
  const Profile& profile() const { return profile_; }

  // --- Machines ---
  // Adds a machine of the world's profile, or of another one, which outlives the world. The world
  // owns it.
  Node& AddNode(std::string name) { return AddNode(std::move(name), profile_); }
  Node& AddNode(std::string name, const Profile& profile);
  // Adds one that stands in a network of several worlds.
  Node& AddNode(std::string name, const Profile& profile, const NodeIdentity& identity);
  // All of their NICs.
  NicTable& nics() { return nics_; }
  const NicTable& nics() const { return nics_; }
  // Nothing passes from one machine to the other from now on, as when a security group lacks a
  // rule; Unblock ends it.
  void Block(Node& from, Node& to);
  void Unblock(Node& from, Node& to);
  // Memory of this device may be registered with every NIC from now on: by its address and kind, or
  // by its dmabuf. Outlives the world.
  void AttachDevice(fabric::PeerMemoryClient& device) { bus_.Attach(device); }

  // --- Faults, and the parts that decide on them ---
  // From now on the devices apply the engine's rules for Layer::kDevice: those of DeviceFaults().
  // The engine may be shared with a fabric::faults::FaultyFabric above. REQUIRES: no fabric was
  // opened yet.
  void UseFaultEngine(std::shared_ptr<fabric::faults::FaultEngine> engine);
  // From now on the scheduler decides what the network does next; see sim/events/scheduler.h. It
  // outlives the world. REQUIRES: virtual time; nothing was opened yet.
  void UseScheduler(Scheduler& scheduler) { timeline_.UseScheduler(scheduler); }

  // --- coro::Clock ---
  coro::Time Now() const override { return timeline_.Now(); }
  bool WaitUntil(coro::Time deadline) override { return timeline_.WaitUntil(deadline); }
  bool IsVirtual() const override { return timeline_.IsVirtual(); }

  // --- Parts ---
  Timeline& timeline() { return timeline_; }
  const Timeline& timeline() const { return timeline_; }
  Wire& wire() { return wire_; }
  MemoryBus& bus() { return bus_; }
  OperationTable& operations() { return operations_; }
  Observers& observers() { return observers_; }
  Surroundings& surroundings() { return around_; }
  // Where memory and threads are; programs place theirs.
  Numa& numa() { return numa_; }
  // Which CPU threads drive the NICs; programs say so of theirs.
  Processors& processors() { return processors_; }

  // --- Results ---
  // For the code that runs a program: every request that should have completed by now did.
  void CheckRequests();
  // The program is over, and has closed what it opened; the requests of what it has not, too.
  void CheckEnd();
  // Silent unless they watch the program.
  Checks& checks() { return *checks_; }
  // The rules that the program broke, in the order of the first time. Valid until the next event.
  std::span<const Finding> findings() const;
  // Everything that happened; empty where WorldOptions wants none, and on the machine's clock:
  // there no run is like another.
  EventLog& log() { return log_; }
  const Digest& digest() const { return log_.digest(); }

 private:
  const std::optional<Profile> undelayed_;
  const Profile& profile_;
  EventLog log_;
  Timeline timeline_;
  DeferredActions deferred_{timeline_};
  OperationTable operations_;
  Wire wire_;
  MemoryBus bus_{timeline_};
  Observers observers_;
  Surroundings around_;
  Numa numa_{around_};
  Processors processors_{timeline_, numa_};
  const std::unique_ptr<LogWriter> log_writer_;
  const std::unique_ptr<Checks> checks_;
  std::unique_ptr<FaultModel> faults_;  // null: no fault plan
  NicTable nics_;
  std::vector<std::unique_ptr<Node>> nodes_;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_WORLD_WORLD_H_
