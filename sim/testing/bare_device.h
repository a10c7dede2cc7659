// The surroundings of a simulated device's parts, without a device, a driver or a world: for the
// unit test of one part, driven through its own header.
//
//   Bench bench;
//   BenchNic& a = bench.AddNic();
//   BenchNic& b = bench.AddNic();
//   bench.Introduce(a, b);
//   sim::Operation& write = bench.Start(OperationKind::kWrite, a.OpenQueuePair(),
//                                       b.OpenQueuePair(), 100);
//   sim::Answer(bench.around, b.state, write, sim::EfaStatus::kOk);
//   bench.RunFor(1ms);
//   EXPECT_EQ(a.actor.Count(sim::EventKind::kAnswer), 1u);
//
// Nothing happens by itself: events that are due go to an actor that records them, and a test hands
// them on to the part that it is about.

#ifndef DRYDOCK_SIM_TESTING_BARE_DEVICE_H_
#define DRYDOCK_SIM_TESTING_BARE_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "drydock/coro/time.h"
#include "drydock/fabric/efa_queue/cqe.h"
#include "drydock/fabric/efa_queue/receive_wqe.h"
#include "drydock/fabric/efa_queue/ring.h"
#include "drydock/fabric/efa_queue/wqe.h"
#include "drydock/fabric/limits.h"
#include "drydock/fabric/memory.h"
#include "drydock/fabric/operation.h"
#include "drydock/sim/device/completion_ring.h"
#include "drydock/sim/device/completion_writer.h"
#include "drydock/sim/device/fault_points.h"
#include "drydock/sim/device/landing.h"
#include "drydock/sim/device/nic_state.h"
#include "drydock/sim/device/nic_table.h"
#include "drydock/sim/device/observers.h"
#include "drydock/sim/device/operation.h"
#include "drydock/sim/device/operation_table.h"
#include "drydock/sim/device/placement.h"
#include "drydock/sim/device/queue_pair.h"
#include "drydock/sim/device/requester.h"
#include "drydock/sim/device/responder.h"
#include "drydock/sim/device/surroundings.h"
#include "drydock/sim/device/transmitter.h"
#include "drydock/sim/efa_address.h"
#include "drydock/sim/efa_status.h"
#include "drydock/sim/events/actor.h"
#include "drydock/sim/events/deferred_actions.h"
#include "drydock/sim/events/event.h"
#include "drydock/sim/events/timeline.h"
#include "drydock/sim/memory/memory_bus.h"
#include "drydock/sim/memory/memory_table.h"
#include "drydock/sim/memory/segment.h"
#include "drydock/sim/network/wire.h"
#include "drydock/sim/profile/profile.h"

namespace drydock::sim_testing {

// Nothing is drawn on this one, and its times are easy to add up: a packet takes 10 us on its way
// and 1 ns a byte on the link, an answer 1 us more; patience ends after 2 ms with a peer that has
// answered, and after 3 ms with one that has not.
sim::Profile Plain();

// The protection domain of all that is registered and opened here.
inline constexpr sim::ProtectionDomain kDomain = 1;

// Records the events of a NIC, and does nothing else.
class RecordingActor final : public sim::Actor {
 public:
  explicit RecordingActor(std::uint32_t index) : index_(index) {}

  std::uint32_t index() const override { return index_; }
  void OnEvent(const sim::Event& event) override { events.push_back(event); }

  // How many of this kind; the first of them. REQUIRES of that: there is one.
  std::size_t Count(sim::EventKind kind) const;
  const sim::Event& First(sim::EventKind kind) const;

  std::vector<sim::Event> events;

 private:
  const std::uint32_t index_;
};

// Records the events of a device, a line each: "fetched 7: 0", "sent packet 1 of 100 bytes",
// "placing 0+100", "placed 0+100", "ended: 0", "silent", "gone", "reported 7: 0", "lost 7: 0",
// "withheld 7", "receive 3 taken", "message lands in 3 at 0", "immediate 9", "key 5 of a refused",
// "remote key 5 of a refused", "doorbell of 2", "registered 100 bytes", "deregistered", "queue pair
// 0 gone".
class RecordingObserver final : public sim::Observer {
 public:
  void OnDoorbell(const sim::NicState&, const sim::QueuePair& queue_pair) override;
  void OnFetched(const sim::NicState&, const sim::QueuePair&, const sim::Operation& operation,
                 sim::EfaStatus status) override;
  void OnSent(const sim::NicState&, const sim::Operation&, std::uint32_t packet, bool response,
              std::uint64_t bytes, const sim::Flight& flight) override;
  void OnReceiveTaken(const sim::NicState&, const sim::QueuePair&,
                      const sim::ReceiveWork& receive) override;
  void OnMessageLands(const sim::NicState&, const sim::QueuePair&, const sim::Operation&,
                      const sim::ReceiveWork& receive, std::uint64_t prefix) override;
  void OnImmediateDelivered(const sim::NicState&, const sim::QueuePair&,
                            const sim::Operation& operation) override;
  void OnPlacing(const sim::BytesPlaced& bytes) override;
  void OnPlaced(const sim::BytesPlaced& bytes) override;
  void OnKeyRefused(const sim::KeyRefused& refused) override;
  void OnRegistered(const sim::NicState&, sim::ProtectionDomain, const sim::MemoryTable::Keys&,
                    std::uint64_t address, std::uint64_t length_bytes, fabric::Access) override;
  void OnDeregistered(const sim::NicState&, std::uint32_t remote_key) override;
  void OnEnded(const sim::Operation& operation) override;
  void OnSilent(const sim::Operation& operation) override;
  void OnGone(const sim::Operation& operation) override;
  void OnReported(const sim::NicState&, const sim::CompletionRing&,
                  const sim::DeviceCompletion& completion, sim::EntryFate fate) override;
  void OnQueuePairGone(const sim::QueuePair& queue_pair) override;

  // The lines since the last call.
  std::vector<std::string> Take() { return std::exchange(lines_, {}); }
  // How often this line was told since then.
  std::size_t Count(const std::string& line) const;

 private:
  std::vector<std::string> lines_;
};

// Gives the answers that a test sets, and "nothing special" otherwise.
class ScriptedFaults final : public sim::FaultPoints {
 public:
  sim::FetchVerdict OnFetch(const sim::QueuePair&, sim::Operation& operation, bool sound) override {
    operation.faulted = marks;
    fetched_sound.push_back(sound);
    return fetch;
  }
  sim::DepartureVerdict OnDeparture(const sim::NicState&, const sim::Operation&,
                                    sim::DrawPurpose purpose) override {
    departures.push_back(purpose);
    return departure;
  }
  void OnFlight(const sim::NicState&, sim::Operation&, sim::DrawPurpose,
                sim::Flight& flight) override {
    flight.delay += flight_delay;
    ++flights;
  }
  ArrivalVerdict OnArrival(const sim::NicState&, const sim::Operation&) override { return arrival; }
  sim::ReceiveVerdict OnReceive(const sim::NicState&, const sim::Operation&) override {
    return receive;
  }
  sim::PlacementVerdict OnPlacement(const sim::NicState&, const sim::Operation&,
                                    sim::Range) override {
    return placement;
  }
  bool OnWritten(const sim::Operation&) override { return written; }
  std::optional<sim::Failure> OnEnd(const sim::Operation&) override { return end; }
  sim::CompletionVerdict OnCompletion(const sim::Operation&) override { return completion; }
  sim::CompletionVerdict OnImmediate(const sim::NicState&, const sim::Operation&,
                                     sim::DeviceCompletion& entry) override {
    entry.status = immediate_status;
    return immediate;
  }
  void OnOpenEndpoint(const sim::NicState&, fabric::Limits&) override {}
  std::size_t OnOpenCompletionQueue(const sim::NicState&, std::size_t entries) override {
    return entries;
  }
  void OnPostWithoutContext(const sim::QueuePair&, std::uint16_t) override {}
  coro::Duration OnInsertPeer(const sim::NicState&, const sim::EfaAddress&) override { return {}; }
  sim::ForwardVerdict OnForward(const sim::Operation&, sim::Range range) override {
    return {.kept_bytes = range.length};
  }

  bool marks = false;  // work requests that are fetched
  sim::FetchVerdict fetch;
  sim::DepartureVerdict departure;
  coro::Duration flight_delay{};
  ArrivalVerdict arrival;
  sim::ReceiveVerdict receive;
  sim::PlacementVerdict placement;
  bool written = true;
  std::optional<sim::Failure> end;
  sim::CompletionVerdict completion;
  sim::CompletionVerdict immediate;
  std::uint8_t immediate_status = 0;
  // The questions that it was asked.
  std::vector<bool> fetched_sound;
  std::vector<sim::DrawPurpose> departures;
  std::uint32_t flights = 0;
};

// Registered memory of a NIC, which the bench owns.
struct BenchMemory {
  std::vector<std::byte> bytes;
  sim::MemoryTable::Keys keys{};

  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(bytes.data()); }
  // As a work request names it.
  sim::Segment At(std::uint64_t offset, std::uint32_t length) const {
    return {address() + offset, length, keys.local};
  }
};

class Bench;

// A NIC that does nothing by itself, on a machine of its own, and memory that all NICs may touch.
struct BenchNic {
  BenchNic(Bench& bench, std::uint32_t index, const sim::Profile& profile);

  // `bytes` of zeros, registered.
  BenchMemory& Register(std::size_t bytes, fabric::Access access = fabric::Access::kAll);
  // Opens a queue pair with 16 entries in each queue, and rings of its own where none are given.
  sim::QueuePair& OpenQueuePair(sim::QueuePairAttributes attributes = {});

  Bench& bench;
  RecordingActor actor;
  sim::NicState state;
  std::uint32_t queue_pairs_opened = 0;
  std::deque<BenchMemory> memories;
  BenchMemory& memory;  // the first of them: kMemoryBytes, all rights
  static constexpr std::size_t kMemoryBytes = 64 << 10;
};

// An entry that a device has written.
using Entry = fabric::efa_queue::Completion;

// The surroundings of all NICs of a test.
class Bench final {
 public:
  explicit Bench(sim::Profile profile = Plain());
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  // "a", "b", ... in this order.
  BenchNic& AddNic();
  // From now on `faults` is asked.
  void UseFaults() { around.faults = &faults; }

  // --- Addresses ---
  // The handle by which `at` knows `peer`.
  std::uint16_t KnowPeer(BenchNic& at, const BenchNic& peer);
  // Both of each other.
  void Introduce(BenchNic& a, BenchNic& b);

  // --- Operations ---
  // One that was fetched from `from` and goes to `to`: `length` bytes from the beginning of one
  // NIC's memory to, or of a read from, the beginning of the other's.
  sim::Operation& Start(fabric::OperationKind kind, sim::QueuePair& from, sim::QueuePair& to,
                        std::uint64_t length);

  // --- Work requests, in the rings ---
  // The same as a work request. REQUIRES: the NICs know each other.
  fabric::efa_queue::SendWork Work(std::uint16_t request_id, fabric::OperationKind kind,
                                   const sim::QueuePair& from, const sim::QueuePair& to,
                                   std::uint32_t length);
  // A receive of all of `memory`.
  static fabric::efa_queue::ReceiveWork ReceiveInto(std::uint16_t request_id,
                                                    const BenchMemory& memory);
  // Writes it to the ring. Returns the value for the doorbell.
  std::uint32_t Post(sim::QueuePair& queue_pair, const fabric::efa_queue::SendWork& work);
  std::uint32_t Post(sim::QueuePair& queue_pair, const fabric::efa_queue::ReceiveWork& work);

  // --- Entries ---
  // Takes all entries out of a ring.
  static std::vector<Entry> Take(sim::CompletionRing& ring);
  static std::vector<Entry> Sent(sim::QueuePair& queue_pair) { return Take(*queue_pair.send_ring); }
  static std::vector<Entry> Received(sim::QueuePair& queue_pair) {
    return Take(*queue_pair.receive_ring);
  }

  void RunFor(coro::Duration duration) { timeline.RunFor(duration); }
  // The NIC of a queue pair.
  BenchNic& NicOf(const sim::QueuePair& queue_pair);

  sim::Profile profile;
  sim::Timeline timeline{sim::ClockKind::kVirtual};
  sim::DeferredActions deferred{timeline};
  sim::OperationTable operations;
  sim::Wire wire{1, profile};
  sim::MemoryBus bus{timeline};
  sim::Observers observers;
  RecordingObserver told;
  ScriptedFaults faults;
  sim::NicTable nics;
  sim::Surroundings around{1, timeline, deferred, operations, wire, bus, observers, nics};

 private:
  friend struct BenchNic;

  std::vector<std::unique_ptr<BenchNic>> owned_;
  std::map<std::uint32_t, BenchNic*> owners_;  // by the queue pair's serial
  std::map<std::uint32_t, fabric::efa_queue::Producer> send_producers_;
  std::map<std::uint32_t, fabric::efa_queue::Producer> receive_producers_;
};

// Records the calls of a placement.
class RecordingListener final : public sim::PlacementListener {
 public:
  void OnAllPlaced(sim::Operation& operation) override { all_placed.push_back(operation.sequence); }
  void OnLanded(sim::QueuePair&, const sim::Landing& landing, sim::Operation* operation) override {
    landed.push_back(landing);
    landed_for.push_back(operation);
  }

  std::vector<std::uint64_t> all_placed;  // sequences
  std::vector<sim::Landing> landed;
  std::vector<sim::Operation*> landed_for;
};

// The parts of one NIC, which know each other as in a device. Placements are only recorded.
struct BenchParts {
  explicit BenchParts(BenchNic& nic);

  RecordingListener listener;
  sim::Transmitter transmitter;
  sim::Placement placement;
  sim::CompletionWriter completions;
  sim::Requester requester;
  sim::Responder responder;
};

}  // namespace drydock::sim_testing

#endif  // DRYDOCK_SIM_TESTING_BARE_DEVICE_H_
