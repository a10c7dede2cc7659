// The checks' record of one open endpoint: its requests in flight, those that were refused, and the
// peers' states that it was told.

#ifndef DRYDOCK_SIM_CHECKS_ENDPOINT_WATCH_H_
#define DRYDOCK_SIM_CHECKS_ENDPOINT_WATCH_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "drydock/coro/time.h"
#include "drydock/fabric/operation.h"
#include "drydock/sim/checks/finding_log.h"
#include "drydock/sim/checks/in_flight.h"
#include "drydock/sim/checks/peer_incarnation.h"
#include "drydock/sim/checks/receiver_ready.h"
#include "drydock/sim/checks/retry_idempotence.h"
#include "drydock/sim/device/observer.h"
#include "drydock/sim/device/posted.h"

namespace drydock::sim {

// Declarations of a program about itself: some rules depend on them.
struct ProgramRules {
  // A context in flight names one operation, as fabric/endpoint.h has it. False: contexts are tags
  // that many operations share; then kContextOwnership is not checked, nor a second post of an
  // accepted operation.
  bool contexts_are_names = true;
  // Writes in flight that a receiver has to tell apart have different immediates. False: the
  // program counts immediates, and is right to use one for several writes.
  bool distinct_immediates = false;
  // A message that was refused because its receiver had no receive is sent again. False: the
  // program may mean to lose it.
  bool refused_messages_matter = false;
  // The program lives by the machine's clock: its retries take time, and a loop of them ends when
  // another thread reads.
  bool real_time = false;
};

// Not thread-safe. Its constructor's arguments outlive it.
class EndpointWatch {
 public:
  EndpointWatch(FindingLog& log, const ProgramRules& rules, const EndpointOpened& endpoint)
      : log_(log),
        rules_(rules),
        nic_(endpoint.nic),
        queue_pair_(endpoint.queue_pair),
        of_protocol_(endpoint.of_protocol),
        send_depth_(endpoint.send_depth),
        state_of_(endpoint.state_of),
        sends_(endpoint.send_depth),
        receives_(endpoint.receive_depth) {}

  // A send, write or read was accepted, with this request id; or a receive was.
  void Accepted(std::uint16_t id, const Posted& posted);
  void AcceptedReceive(std::uint16_t id, const Posted& posted);
  // It was answered kAgain. `reads`: how often the program has looked into the completion queue of
  // its sends; `waited`: how long it has waited so far. True: it has been refused so often, without
  // a look or a wait, that it goes on for ever.
  bool Refused(const Posted& posted, std::uint64_t reads, coro::Duration waited);
  // The program took the entry of this request out of its completion queue. `status`: EFA's.
  void Ended(std::uint16_t id, std::uint8_t status) {
    const Posted* posted = sends_.Remove(id);
    if (posted == nullptr) return;
    peers_.Completed(*posted, status);
    receivers_.Completed(*posted, status);
  }
  void EndedReceive(std::uint16_t id) { receives_.Remove(id); }

  // The program waits though nothing is under way.
  void Stuck();
  // The object that should take the completion of `context` is gone.
  void OwnerGone(fabric::Context context);
  // `requests` of a batch were not rung for, and will not be.
  void BatchLeft(std::size_t requests);
  // The endpoint closes, or the program is over.
  void AtEnd();

  const NicState& nic() const { return nic_; }
  const QueuePair& queue_pair() const { return queue_pair_; }
  std::size_t send_depth() const { return send_depth_; }
  const InFlight& sends() const { return sends_; }
  // So many of the last requests were posted and not rung for: the device has not heard of them.
  std::uint32_t unrung() const {
    const std::uint32_t unrung = accepted_ - queue_pair_.send.announced();
    return static_cast<std::int32_t>(unrung) > 0 ? unrung : 0;  // others may write the ring, too
  }
  const InFlight& receives() const { return receives_; }
  const RetryIdempotence& retries() const { return retries_; }

 private:
  template <typename Sentence>
  void Found(Check check, Sentence sentence) {
    log_.Add(check, nic_.name, queue_pair_.number, sentence);
  }
  // `posted` has the kind and context of `other`, which is in flight.
  void SameContext(const Posted& posted, const Posted& other);
  void Futile(const Posted& posted, PeerState told);

  FindingLog& log_;
  const ProgramRules& rules_;
  const NicState& nic_;
  const QueuePair& queue_pair_;
  const bool of_protocol_;
  const std::size_t send_depth_;
  const std::function<PeerState(fabric::Peer)> state_of_;
  InFlight sends_;
  InFlight receives_;
  RetryIdempotence retries_;
  PeerIncarnation peers_;
  ReceiverReady receivers_;
  std::uint32_t accepted_ = 0;  // requests of the send queue, modulo 2^32
  std::uint64_t agains_ = 0;    // in a row, since the completion queue had been read this often:
  std::uint64_t reads_at_again_ = 0;
  coro::Duration first_again_{};  // of them
  std::uint64_t in_vain_ = 0;     // of them, since the program had waited for so long:
  coro::Duration waited_at_again_{};
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_CHECKS_ENDPOINT_WATCH_H_
