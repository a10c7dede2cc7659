// Records the operation of a world's simulated devices, beside the program's calls.
//
//   program ─► TracedFabric ─► sim ─┬► observers ────────────► WorldTrace ─► Recorder
//                   └───────────────┼─────────────────────────────────────────┘
//                                   └► fault engine, checks ─► WorldTrace
//
// Observing changes nothing: a run has the digest that it would have without.

#ifndef DRYDOCK_SIM_TRACING_WORLD_TRACE_H_
#define DRYDOCK_SIM_TRACING_WORLD_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "drydock/fabric/faults/engine.h"
#include "drydock/fabric/trace/event.h"
#include "drydock/fabric/trace/posted_work.h"
#include "drydock/fabric/trace/recorder.h"
#include "drydock/sim/device/observer.h"
#include "drydock/sim/world/world.h"

namespace drydock::sim {

// Not thread-safe: belongs to its world.
class WorldTrace final : public Observer, private fabric::faults::FiringListener {
 public:
  // From now on the recorder has the world's time. `engine`: its firings are recorded, too; null:
  // there is none. All of them outlive this.
  WorldTrace(World& world, fabric::trace::Recorder& recorder,
             fabric::faults::FaultEngine* engine = nullptr);
  // The recorder's time stands still then, until it gets another clock.
  ~WorldTrace() override;
  WorldTrace(const WorldTrace&) = delete;
  WorldTrace& operator=(const WorldTrace&) = delete;

  // --- Observer ---
  void OnDoorbell(const NicState& nic, const QueuePair& queue_pair) override;
  void OnFetched(const NicState& nic, const QueuePair& queue_pair, const Operation& operation,
                 EfaStatus status) override;
  void OnSent(const NicState& nic, const Operation& operation, std::uint32_t packet, bool response,
              std::uint64_t bytes, const Flight& flight) override;
  void OnPlaced(const BytesPlaced& bytes) override;
  void OnReceiveTaken(const NicState& nic, const QueuePair& queue_pair,
                      const ReceiveWork& receive) override;
  void OnImmediateDelivered(const NicState& nic, const QueuePair& target,
                            const Operation& operation) override;
  void OnReported(const NicState& nic, const CompletionRing& ring,
                  const DeviceCompletion& completion, EntryFate fate) override;

 private:
  // An operation as the recorder knows it.
  struct Known {
    std::uint64_t op = 0;  // 0: unknown
    std::uint16_t node = 0;
    fabric::OperationKind kind = fabric::OperationKind::kSend;
  };
  struct Machine {
    std::uint16_t node = 0;
    std::string nic;
    std::uint32_t number = 0;  // of the NIC, at the recorder
    std::uint32_t wire = 0;    // its tracks
    std::uint32_t memory = 0;
    std::uint32_t marks = 0;
  };
  // NIC and queue pair that an immediate came to, the sender's handle there, its queue pair, and
  // the immediate.
  using ImmediateKey =
      std::tuple<std::uint32_t, std::uint16_t, std::uint16_t, std::uint16_t, std::uint32_t>;
  // Of one life of a queue pair.
  struct Queue {
    std::uint32_t qkey = 0;
    std::shared_ptr<fabric::trace::PostedWork> work;  // null: the program's posts are not recorded
  };

  // --- FiringListener ---
  void OnFired(const fabric::faults::FiringId& id, const fabric::faults::EventView& view,
               const fabric::faults::Firing& firing) override;

  Machine& MachineOf(const NicState& nic);
  // The same by a NIC's name, "machine/name", or by its last part; null: there is none.
  Machine* FindMachine(std::string_view name);
  // The track of faults and checks about that NIC.
  std::uint32_t MarksOf(std::string_view name);
  fabric::trace::PostedWork* WorkOf(const NicState& nic, std::uint16_t queue_pair,
                                    std::uint32_t qkey);
  Known& KnownOf(OperationId id);
  static ImmediateKey KeyOf(const NicState& nic, const DeviceCompletion& completion);
  // Which operation an entry is about. `announced`: its immediate was delivered just now.
  Known Completed(const NicState& nic, const DeviceCompletion& completion, bool announced);
  void RecordFindings();

  World& world_;
  fabric::trace::Recorder& recorder_;
  fabric::faults::FaultEngine* const engine_;
  fabric::faults::FiringListener* const next_firing_;
  std::vector<std::optional<Machine>> machines_;             // by index of the NIC
  std::vector<std::pair<std::uint32_t, Known>> operations_;  // by slot: generation
  absl::flat_hash_map<std::uint64_t, Queue> queues_;         // by NIC and queue pair
  // Requests that have not completed, by NIC, queue pair and request id.
  absl::flat_hash_map<std::uint64_t, Known> requests_;
  absl::flat_hash_map<std::uint64_t, Known> receives_;
  Known announced_;              // whose immediate was delivered last
  bool just_announced_ = false;  // nothing has been reported since
  // Whose immediates a fault plan keeps back: equal ones in the order of their delivery.
  std::multimap<ImmediateKey, Known> withheld_;
  std::size_t findings_ = 0;  // that were recorded
  std::int64_t began_ns_;     // the recorder's time then
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_TRACING_WORLD_TRACE_H_
