// What a driver of a simulated device does for its program, told to observers (observer.h).

#ifndef DRYDOCK_SIM_DEVICE_DRIVER_EVENTS_H_
#define DRYDOCK_SIM_DEVICE_DRIVER_EVENTS_H_

#include <cstddef>
#include <cstdint>
#include <functional>

#include "drydock/fabric/efa_queue/receive_wqe.h"
#include "drydock/fabric/efa_queue/wqe.h"
#include "drydock/fabric/operation.h"
#include "drydock/sim/device/completion_ring.h"
#include "drydock/sim/device/nic_state.h"
#include "drydock/sim/device/posted.h"
#include "drydock/sim/device/queue_pair.h"
#include "drydock/sim/efa_address.h"

namespace drydock::sim {

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
  bool of_protocol = false;  // a protocol posts here, with contexts of its own: not the program
  std::function<PeerState(fabric::Peer)> state_of;  // valid until the endpoint closes
};

// The half of an Observer that a driver tells: sim/driver, and sim/verbs for programs of libibverbs.
// Functions that are not overridden do nothing.
class DriverEvents {
 public:
  // ---- Objects ----
  // `object` numbers all that were ever opened in the world.
  virtual void OnOpened(std::uint32_t /*object*/, ObjectKind /*kind*/, const NicState& /*nic*/) {}
  // Its Close was called, or its handle destroyed. `busy`: it stays open.
  virtual void OnClosed(std::uint32_t /*object*/, bool /*busy*/) {}
  // A completion queue of the driver's domain with this number (an object's, see OnOpened).
  virtual void OnQueueOpened(const CompletionRing& /*ring*/, std::uint32_t /*domain*/) {}
  virtual void OnEndpointOpened(const EndpointOpened& /*endpoint*/) {}
  // All of its posts have reached the device.
  virtual void OnEndpointClosing(const QueuePair& /*queue_pair*/) {}
  // Code other than the driver writes to its rings from now on.
  virtual void OnRingsTaken(const QueuePair& /*queue_pair*/) {}
  // A queue pair goes, or its program ends, and `requests` of a batch that was begun on it were
  // never rung for.
  virtual void OnBatchLeft(const QueuePair& /*queue_pair*/, std::size_t /*requests*/) {}
  // An address handle is about to mean no peer any more.
  virtual void OnHandleClosing(const NicState& /*nic*/, std::uint16_t /*handle*/) {}
  // A completion queue goes, or its program ends. `unread`: with entries that the program has not
  // taken. `unacknowledged`: events that it took and did not acknowledge, where that matters,
  // modulo 2^32: it may have acknowledged more.
  virtual void OnQueueClosing(const NicState& /*nic*/, const CompletionRing& /*ring*/,
                              bool /*unread*/, std::uint32_t /*unacknowledged*/) {}
  // A thread came into a queue pair, or else a completion queue, of this number, while another one
  // was in it, though the program had promised that this never happens.
  virtual void OnTwoThreads(const NicState& /*nic*/, std::uint32_t /*number*/,
                            bool /*queue_pair*/) {}

  // ---- Requests ----
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
  // It has looked into one, and found `count` completions, at least one.
  virtual void OnPolled(const NicState& /*nic*/, const CompletionRing& /*ring*/,
                        std::size_t /*count*/) {}
  // It has looked into one, or into a counter (`ring` is null), in vain: nothing was there, and
  // nothing is under way that could change that.
  virtual void OnPolledInVain(const CompletionRing* /*ring*/) {}

 protected:
  ~DriverEvents() = default;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DEVICE_DRIVER_EVENTS_H_
