// The events of simulated devices and of their drivers, for observers that keep the log, check the
// program, draw a trace, or count.
//
//   driver ─┐
//   device ─┼─► Observers ──► event log, checks, outcome counts, trace, fault plan, ...
//   world  ─┘
//
// An event is told in one source of the device, or in one of each driver: sim/driver, and sim/verbs
// for programs of libibverbs. An observer changes nothing: a run has the same digest with it as
// without it.

#ifndef DRYDOCK_SIM_DEVICE_OBSERVER_H_
#define DRYDOCK_SIM_DEVICE_OBSERVER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "drydock/fabric/efa_queue/receive_wqe.h"
#include "drydock/fabric/efa_queue/wqe.h"
#include "drydock/fabric/operation.h"
#include "drydock/sim/device/completion_ring.h"
#include "drydock/sim/device/nic_state.h"
#include "drydock/sim/device/operation.h"
#include "drydock/sim/device/posted.h"
#include "drydock/sim/device/queue_pair.h"
#include "drydock/sim/efa_address.h"
#include "drydock/sim/efa_status.h"
#include "drydock/sim/memory/memory_table.h"
#include "drydock/sim/memory/segment.h"
#include "drydock/sim/network/wire.h"

namespace drydock::sim {

// Bytes of an operation that reach memory. Valid during the call.
struct BytesPlaced {
  const NicState& nic;         // to whose memory
  OperationId id;              // of the operation
  const Operation* operation;  // null: it has ended, and the rest of its message lands
  // The queue pair at the target: of a write or read the one in whose protection domain the memory
  // is that the initiator names, of a message the one whose receive it takes. Null: it is in
  // another process.
  const QueuePair* target;
  std::uint32_t packet;  // its number
  Range range;           // of the payload
  Range read;            // of the payload: read from its source now, if reads_source
  bool second_copy;      // the packet has been placed before
  bool rest_comes;       // other bytes of the packet are placed later
  bool reads_source;     // false: they have left their source before
  const ReceiveWork* receive = nullptr;  // of a message
  // Where they go: a range of pieces that are laid end to end.
  std::span<const Segment> memory;
  Range in_memory;
};

// A key that a NIC did not accept.
struct KeyRefused {
  const NicState& nic;  // that refused it
  std::uint32_t key;
  bool remote;               // named by a peer
  const std::string& where;  // name of the NIC whose queue pair wanted to touch the memory
  std::uint16_t queue_pair;
  fabric::OperationKind kind;
};

// The fate of a completion's entry.
enum class EntryFate : std::uint8_t {
  kWritten,
  kNoRoom,     // its queue was full: it is lost
  kOverwrote,  // its queue was full: it was written in the place of an unread one
  kWithheld,   // a fault plan keeps it back, for a while or for good
};

// The kinds of objects that a program opens on a NIC.
enum class ObjectKind : std::uint8_t {
  kDomain,
  kMemoryRegion,
  kCompletionQueue,
  kAddressVector,
  kCounter,
  kEndpoint,
  kAddressHandle,
  kCompletionChannel,
};
inline constexpr std::size_t kObjectKinds = 8;

// An endpoint that a driver has opened.
struct EndpointOpened {
  const NicState& nic;
  const QueuePair& queue_pair;
  std::size_t send_depth;     // requests
  std::size_t receive_depth;  // receives
  bool immediates_take_receives;
  std::function<PeerState(fabric::Peer)> state_of;  // valid until the endpoint closes
};

// Told by every device and driver of a world, within the call that it describes. Must not touch
// the world. Not thread-safe.
class Observer {
 public:
  virtual ~Observer() = default;

  // ---- The device: our own work requests ----
  // A queue pair has new work; queue_pair.send.unfetched() tells how much.
  virtual void OnDoorbell(const NicState& /*nic*/, const QueuePair& /*queue_pair*/) {}
  // A work request left its ring; `status` is that of the local checks. One that was malformed, or
  // that the queue pair's state refuses, has an operation without an initiator: no more than its
  // request id is known.
  virtual void OnFetched(const NicState& /*nic*/, const QueuePair& /*queue_pair*/,
                         const Operation& /*operation*/, EfaStatus /*status*/) {}
  // A packet left: one of the operation's own, or (`response`) of the data that it reads.
  virtual void OnSent(const NicState& /*nic*/, const Operation& /*operation*/,
                      std::uint32_t /*packet*/, bool /*response*/, std::uint64_t /*bytes*/,
                      const Flight& /*flight*/) {}

  // ---- The device: packets of peers ----
  // The oldest receive is used.
  virtual void OnReceiveTaken(const NicState& /*nic*/, const QueuePair& /*queue_pair*/,
                              const ReceiveWork& /*receive*/) {}
  // A message is about to be placed in a receive, `prefix` bytes from its beginning.
  virtual void OnMessageLands(const NicState& /*nic*/, const QueuePair& /*target*/,
                              const Operation& /*operation*/, const ReceiveWork& /*receive*/,
                              std::uint64_t /*prefix*/) {}
  // The next entry that is reported is the immediate of this operation of a peer's.
  virtual void OnImmediateDelivered(const NicState& /*nic*/, const QueuePair& /*target*/,
                                    const Operation& /*operation*/) {}

  // ---- The device: memory ----
  // Bytes are about to be copied.
  virtual void OnPlacing(const BytesPlaced& /*bytes*/) {}
  // They were.
  virtual void OnPlaced(const BytesPlaced& /*bytes*/) {}
  virtual void OnKeyRefused(const KeyRefused& /*refused*/) {}
  virtual void OnRegistered(const NicState& /*nic*/, ProtectionDomain /*domain*/,
                            const MemoryTable::Keys& /*keys*/, std::uint64_t /*address*/,
                            std::uint64_t /*length_bytes*/, fabric::Access /*access*/) {}
  virtual void OnDeregistered(const NicState& /*nic*/, std::uint32_t /*remote_key*/) {}

  // ---- The device: how operations end ----
  // Its memory is touched no more; operation.status says how it ended.
  virtual void OnEnded(const Operation& /*operation*/) {}
  // Its packets or its answer are lost, and nothing more of it is placed.
  virtual void OnSilent(const Operation& /*operation*/) {}
  // It is about to leave the operation table.
  virtual void OnGone(const Operation& /*operation*/) {}
  // An entry for a completion queue, and its fate.
  virtual void OnReported(const NicState& /*nic*/, const CompletionRing& /*ring*/,
                          const DeviceCompletion& /*completion*/, EntryFate /*fate*/) {}
  // The NIC fell silent for good.
  virtual void OnDied(const NicState& /*nic*/) {}

  // ---- The driver: objects ----
  // `object` numbers all that were ever opened in the world.
  virtual void OnOpened(std::uint32_t /*object*/, ObjectKind /*kind*/, const NicState& /*nic*/) {}
  // Its Close was called, or its handle destroyed. `busy`: it stays open.
  virtual void OnClosed(std::uint32_t /*object*/, bool /*busy*/) {}
  // A completion queue of the driver's domain with this number (an object's, see OnOpened).
  virtual void OnQueueOpened(const CompletionRing& /*ring*/, std::uint32_t /*domain*/) {}
  virtual void OnEndpointOpened(const EndpointOpened& /*endpoint*/) {}
  // All of its posts have reached the device.
  virtual void OnEndpointClosing(const QueuePair& /*queue_pair*/) {}
  // Its device knows none of its requests any more, and it is about to be destroyed.
  virtual void OnQueuePairGone(const QueuePair& /*queue_pair*/) {}
  // Code other than the driver writes to its rings from now on.
  virtual void OnRingsTaken(const QueuePair& /*queue_pair*/) {}
  // A queue pair goes, or its program ends, and `requests` of a batch that was begun on it were
  // never rung for.
  virtual void OnBatchLeft(const QueuePair& /*queue_pair*/, std::size_t /*requests*/) {}
  // An address handle is about to mean no peer any more.
  virtual void OnHandleClosing(const NicState& /*nic*/, std::uint16_t /*handle*/) {}
  // A completion queue goes, or its program ends. `unread`: with entries that the program has not
  // taken. `unacknowledged`: events that it took and did not acknowledge, where that matters.
  virtual void OnQueueClosing(const NicState& /*nic*/, const CompletionRing& /*ring*/,
                              bool /*unread*/, std::uint32_t /*unacknowledged*/) {}
  // A thread came into a queue pair, or else a completion queue, of this number, while another one
  // was in it, though the program had promised that this never happens.
  virtual void OnTwoThreads(const NicState& /*nic*/, std::uint32_t /*number*/,
                            bool /*queue_pair*/) {}

  // ---- The driver: requests ----
  // A send, write or read was accepted, and the device was not told yet. `peer`: index of the NIC
  // that it goes to, or kNoActor.
  virtual void OnPosted(const QueuePair& /*queue_pair*/,
                        const fabric::efa_queue::SendWork& /*work*/, const Posted& /*posted*/,
                        std::uint32_t /*peer*/) {}
  virtual void OnReceivePosted(const QueuePair& /*queue_pair*/,
                               const fabric::efa_queue::ReceiveWork& /*work*/,
                               const Posted& /*posted*/) {}
  // A post was answered with kAgain.
  virtual void OnAgain(const NicState& /*nic*/, const QueuePair& /*queue_pair*/,
                       const Posted& /*posted*/) {}
  // The program took the entry of this request out of its completion queue. `receive`: of a
  // receive; `status`: EFA's.
  virtual void OnCompletionRead(const QueuePair& /*queue_pair*/, bool /*receive*/,
                                std::uint16_t /*request_id*/, std::uint8_t /*status*/) {}
  // The program is about to look into a completion queue.
  virtual void OnPolling(const CompletionRing& /*ring*/) {}
  // It has looked into one, or into a counter (`ring` is null), and found `count` completions.
  // `in_vain`: none, nothing is under way that could change that, and the program has not looked at
  // the time since it last polled.
  virtual void OnPolled(const NicState& /*nic*/, const CompletionRing* /*ring*/,
                        std::size_t /*count*/, bool /*in_vain*/) {}
};

// The events have numbers, so that a list of those that listen to one is found at once.
enum class ObserverEvent : std::uint8_t {
#define EVENT(name) name,
#include "drydock/sim/device/observer_events.inc"
#undef EVENT
  kEnd
};

template <auto Event>
constexpr std::size_t NumberOf() = delete;
#define EVENT(name)                                       \
  template <>                                             \
  constexpr std::size_t NumberOf<&Observer::name>() {     \
    return static_cast<std::size_t>(ObserverEvent::name); \
  }
#include "drydock/sim/device/observer_events.inc"
#undef EVENT

// Those of one world, in the order in which they are told. Each is told only of the events that its
// class overrides: an observer costs nothing where it does not listen.
class Observers {
 public:
  // The observer outlives this, or is taken away before. Its class overrides in public; told by
  // way of Observer itself, it is told of everything.
  template <typename T>
  void Add(T& observer) {
    ++count_;
#define EVENT(name) Enlist<&Observer::name>(observer, &T::name);
#include "drydock/sim/device/observer_events.inc"
#undef EVENT
  }
  void Remove(Observer& observer) {
    --count_;
    for (std::vector<Observer*>& list : listeners_) std::erase(list, &observer);
  }

  // Tells those that listen: observers.Tell<&Observer::OnGone>(operation).
  template <auto Event, typename... Arguments>
  void Tell(const Arguments&... arguments) const {
    for (Observer* observer : listeners_[NumberOf<Event>()]) (observer->*Event)(arguments...);
  }
  bool any() const { return count_ > 0; }

 private:
  // A class that does not override an event names Observer's own.
  template <auto Event, typename T, typename Mine>
  void Enlist(T& observer, Mine /*mine*/) {
    if constexpr (std::is_same_v<T, Observer> || !std::is_same_v<Mine, decltype(Event)>) {
      listeners_[NumberOf<Event>()].push_back(&observer);
    }
  }

  std::size_t count_ = 0;
  std::array<std::vector<Observer*>, static_cast<std::size_t>(ObserverEvent::kEnd)> listeners_;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DEVICE_OBSERVER_H_
