// A member's way back to the rendezvous after the network between them was cut: it calls again, for
// as long as a seat is kept, proves that it has the key, and says which machine it is.

#ifndef DRYDOCK_SIM_HOSTS_SOCKETS_RECALL_H_
#define DRYDOCK_SIM_HOSTS_SOCKETS_RECALL_H_

#include <cstdint>
#include <optional>

#include "drydock/coro/time.h"
#include "drydock/sim/hosts/sockets/control.h"
#include "drydock/sim/hosts/sockets/handshake.h"
#include "drydock/sim/hosts/sockets/mac.h"
#include "drydock/sim/hosts/sockets/socket.h"
#include "drydock/sim/hosts/sockets/stream.h"

namespace drydock::sim {

// Never waits. Not thread-safe.
class Recall {
 public:
  Recall(const SocketAddress& rendezvous, const Key& key, std::uint64_t fabric, const Seat& seat,
         coro::Time now);

  // Goes on, if it is time to. A connection over which kReturn was said; the answer comes next.
  std::optional<Stream> Turn(coro::Time now);
  // When it is time; coro::kNever: it has given up.
  coro::Time due() const { return due_; }

 private:
  void Dial(coro::Time now);
  // Whether kReturn was said.
  bool Talk();

  const SocketAddress rendezvous_;
  const Key key_;
  Control return_;
  const coro::Time end_;
  coro::Time due_;
  coro::Time patience_{};  // how long this call may take
  std::optional<Stream> stream_;
  std::optional<Caller> caller_;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_SOCKETS_RECALL_H_
