// What the checks know of one open endpoint: what it has in flight, what was refused, and what it
// was told of its peers. The driver tells it, one line at each place.

#ifndef SIM_CHECKS_ENDPOINT_WATCH_H_
#define SIM_CHECKS_ENDPOINT_WATCH_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "coro/time.h"
#include "sim/checks/in_flight.h"
#include "sim/checks/peer_incarnation.h"
#include "sim/checks/posted.h"
#include "sim/checks/retry_idempotence.h"

namespace sim {

class Checks;
class Nic;
struct QueuePair;

struct WatchedEndpoint {
  std::string where;         // the NIC: "server/rdmap79s0"
  std::uint32_t number = 0;  // of its queue pair
  std::size_t send_depth = 0;
  std::size_t receive_depth = 0;
  const Nic* nic = nullptr;
  const QueuePair* queue_pair = nullptr;
  // What is true of a peer now. Asked when a program seems to have missed it.
  std::function<PeerState(fabric::Peer)> state_of;
};

// Not thread-safe. Owned by its Checks, from the endpoint's opening to its closing.
class EndpointWatch {
 public:
  EndpointWatch(Checks& checks, WatchedEndpoint endpoint)
      : checks_(checks),
        endpoint_(std::move(endpoint)),
        sends_(endpoint_.send_depth),
        receives_(endpoint_.receive_depth) {}

  // A send, write or read was accepted, with this request id; or a receive was.
  void Accepted(std::uint16_t id, const Posted& posted, coro::Duration now);
  void AcceptedReceive(std::uint16_t id, const Posted& posted, coro::Duration now);
  // It was answered kAgain.
  void Refused(const Posted& posted) { retries_.Refused(posted); }
  // The program took the entry of this request out of its completion queue. `status`: EFA's.
  void Ended(std::uint16_t id, std::uint8_t status) {
    const Posted* posted = sends_.Remove(id);
    if (posted != nullptr) peers_.Completed(*posted, status);
  }
  void EndedReceive(std::uint16_t id) { receives_.Remove(id); }

  // The program waits though nothing is under way.
  void Stuck(coro::Duration now);
  // Whoever should have been there for the completion of `context` is gone.
  void OwnerGone(fabric::Context context, coro::Duration now);

  const WatchedEndpoint& endpoint() const { return endpoint_; }
  const InFlight& sends() const { return sends_; }
  const InFlight& receives() const { return receives_; }
  const RetryIdempotence& retries() const { return retries_; }

 private:
  // `posted` has the kind and context of `other`, which is in flight.
  void SameContext(const Posted& posted, const Posted& other, coro::Duration now);
  void Futile(const Posted& posted, PeerState told, coro::Duration now);

  Checks& checks_;
  const WatchedEndpoint endpoint_;
  InFlight sends_;
  InFlight receives_;
  RetryIdempotence retries_;
  PeerIncarnation peers_;
};

}  // namespace sim

#endif  // SIM_CHECKS_ENDPOINT_WATCH_H_
