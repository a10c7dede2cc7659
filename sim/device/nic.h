// A simulated EFA device: it fetches work requests, sends packets, and places what arrives.
//
//   driver ── commands ──► admin_queue        network ─► responder ─► placement ─► memory
//      └── doorbells ──► requester ─► transmitter ─► network   │          │
//                            ▲                                 ▼          ▼
//   driver ◄── entries ──────┴────────── completion_writer ◄───┴──────────┘
//
// Its promises, and no others (ofiwg/libfabric prov/efa/docs, amzn-drivers SRD.txt):
//   1. Every work request ends in exactly one completion entry; of a destroyed queue pair in none.
//   2. Work requests, the packets of one, and the pieces of a packet are placed in any order.
//   3. The immediate of a write appears only after every byte of that write was placed.
//   4. The same packet may be placed twice before the completion; nothing is placed after it.
//   5. Rights and bounds are checked when bytes are placed, packet by packet.
//   6. A failure affects only its own work request.

#ifndef DRYDOCK_SIM_DEVICE_NIC_H_
#define DRYDOCK_SIM_DEVICE_NIC_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "drydock/sim/device/admin_queue.h"
#include "drydock/sim/device/completion_writer.h"
#include "drydock/sim/device/device_counters.h"
#include "drydock/sim/device/landing.h"
#include "drydock/sim/device/nic_state.h"
#include "drydock/sim/device/operation.h"
#include "drydock/sim/device/placement.h"
#include "drydock/sim/device/queue_pair.h"
#include "drydock/sim/device/requester.h"
#include "drydock/sim/device/responder.h"
#include "drydock/sim/device/surroundings.h"
#include "drydock/sim/device/transmitter.h"
#include "drydock/sim/efa_address.h"
#include "drydock/sim/events/actor.h"
#include "drydock/sim/events/event.h"
#include "drydock/sim/profile/profile.h"

namespace drydock::sim {

// Owns the parts, and hands each event to the one that it is for. Not thread-safe: belongs to its
// world, and lives as long as that.
class Nic final : public Actor, private PlacementListener {
 public:
  // `index` counts the NICs of the world; `machine` those of the network, and `number` those of the
  // machine: both decide the NIC's draws. `name` is for people: "server/rdmap79s0". `gid`: zeros
  // for a drawn one. The profile outlives the NIC.
  struct Identity {
    std::uint32_t index = 0;
    std::uint32_t machine = 0;
    std::uint32_t number = 0;
    std::string name;
    Gid gid{};
  };
  Nic(Surroundings& around, const Identity& identity, const Profile& profile);

  NicState& state() { return state_; }
  const NicState& state() const { return state_; }
  const std::string& name() const { return state_.name; }
  std::uint32_t machine() const { return state_.machine(); }
  const Gid& gid() const { return state_.gid; }
  const Profile& profile() const { return state_.profile; }
  const DeviceCounters& counters() const { return state_.counters; }

  // --- The driver's ---
  AdminQueue& admin() { return admin_queue_; }
  // Doorbells. `counter` is the running number of posted entries.
  void RingSend(QueuePair& queue_pair, std::uint32_t counter) {
    requester_.Ring(queue_pair, counter);
  }
  void RingReceive(QueuePair& queue_pair, std::uint32_t counter) {
    responder_.Ring(queue_pair, counter);
  }

  // --- Failures of a machine ---
  // A dead NIC sends and receives nothing: its peers see silence.
  bool alive() const { return state_.alive(); }
  void Kill();
  // Messages of `peer` that wait here for a receive get no answer any more.
  void Silence(const Nic& peer) { responder_.Silence(peer.state()); }
  // The device restarts: its queue pairs are in error for good, their work is flushed, and peers
  // that had work under way with it are told (status 8). A dead one stays as it is.
  void Reset();
  // A broken device: it answers every request with nonsense (status 12 at its peers).
  void set_answers_nonsense(bool nonsense) { state_.answers_nonsense = nonsense; }

  // --- Actor ---
  std::uint32_t index() const override { return state_.index(); }
  void OnEvent(const Event& event) override;
  std::optional<Step> Describe(const Event& event) const override;
  bool IsPointless(const Event& event) const override;

 private:
  void Transmit();
  void OnOperationEvent(Operation& operation, const Event& event);
  Step Describe(const Operation& operation, const Event& event) const;

  // --- PlacementListener ---
  void OnAllPlaced(Operation& operation) override;
  void OnLanded(QueuePair& target, const Landing& landing, Operation* operation) override;

  Surroundings& around_;
  NicState state_;
  Transmitter transmitter_;
  Placement placement_;
  CompletionWriter completions_;
  Requester requester_;
  Responder responder_;
  AdminQueue admin_queue_;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DEVICE_NIC_H_
