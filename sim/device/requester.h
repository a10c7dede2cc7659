// The NIC as initiator: from the doorbell to the completion of our own work requests.

#ifndef DRYDOCK_SIM_DEVICE_REQUESTER_H_
#define DRYDOCK_SIM_DEVICE_REQUESTER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "drydock/coro/time.h"
#include "drydock/sim/device/completion_writer.h"
#include "drydock/sim/device/fault_points.h"
#include "drydock/sim/device/nic_state.h"
#include "drydock/sim/device/operation.h"
#include "drydock/sim/device/placement.h"
#include "drydock/sim/device/queue_pair.h"
#include "drydock/sim/device/surroundings.h"
#include "drydock/sim/device/transmitter.h"
#include "drydock/sim/efa_status.h"

namespace drydock::sim {

// Of one NIC. Every work request that it fetches ends in exactly one completion entry, unless its
// queue pair is destroyed or reset first, or it asks for none and succeeds. Not thread-safe. Its
// constructor's arguments outlive it.
class Requester {
 public:
  Requester(NicState& nic, Surroundings& around, Transmitter& transmitter, Placement& placement,
            CompletionWriter& completions)
      : nic_(nic),
        around_(around),
        transmitter_(transmitter),
        placement_(placement),
        completions_(completions) {}

  // The driver has written the doorbell of a send queue: `counter` is the running number of posted
  // entries.
  void Ring(QueuePair& queue_pair, std::uint32_t counter);

  // Takes work in turn from every queue pair that has some, as much as the engine serves at a time.
  void Fetch();

  // Takes no more work of this queue pair; all that it was rung for meanwhile is served after
  // Resume. What was taken before goes on.
  void Drain(QueuePair& queue_pair);
  void Resume(QueuePair& queue_pair);

  // --- Events of our own operations ---
  // A packet of the data that we read is here. `flags`: PacketFlags.
  void OnReadData(Operation& operation, std::uint32_t flags);
  // It has ended.
  void OnAnswer(Operation& operation);
  // No answer is under way: after some time the device gives up.
  void OnSilence(const Operation& operation);
  void OnTimeOut(Operation& operation);
  // The packets of one have all left.
  void OnServed(const Transmitter::Served& served) {
    if (!behind_.empty()) CountDown(served);
  }

  // --- Ends from outside ---
  // Work under way of this queue pair, to this address handle, of all: it ends as flushed.
  void Flush(const QueuePair& queue_pair);
  void FlushHandle(std::uint16_t address_handle);
  void FlushAll();
  // Its work requests end without completions.
  void Abandon(QueuePair& queue_pair);

 private:
  // A work request that waits until others of its queue pair were served.
  struct Behind {
    OperationId operation;
    std::uint32_t source;
    std::uint64_t sequence;
    std::int64_t left;
  };

  void Wait(QueuePair& queue_pair);
  bool FetchOne(QueuePair& queue_pair);
  EfaStatus Refusal(const QueuePair& queue_pair, FetchResult result);
  void Identify(const QueuePair& queue_pair, Operation& operation) const;
  EfaStatus CheckLocally(Operation& operation) const;
  void Refuse(QueuePair& queue_pair, Operation& operation, EfaStatus status);
  void Serve(Operation& operation);
  void ServeAsPlanned(Operation& operation, const FetchVerdict& verdict);
  void ServeBehind(OperationId operation);
  void CountDown(const Transmitter::Served& served);
  void Complete(const Operation& operation);
  bool HasHeardFrom(const Operation& operation) const;
  bool AsksAgain(Operation& operation);

  NicState& nic_;
  Surroundings& around_;
  Transmitter& transmitter_;
  Placement& placement_;
  CompletionWriter& completions_;
  std::vector<QueuePair*> unfetched_;  // with work that was rung for, in turn
  std::vector<Behind> behind_;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DEVICE_REQUESTER_H_
