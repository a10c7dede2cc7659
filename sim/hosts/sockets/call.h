// A call to the rendezvous, up to where both have proven themselves.

#ifndef DRYDOCK_SIM_HOSTS_SOCKETS_CALL_H_
#define DRYDOCK_SIM_HOSTS_SOCKETS_CALL_H_

#include <string>

#include "absl/status/statusor.h"
#include "drydock/coro/time.h"
#include "drydock/sim/hosts/sockets/mac.h"
#include "drydock/sim/hosts/sockets/stream.h"

namespace drydock::sim {

struct CalledRendezvous {
  Stream stream;
  Key key;
};

// Waits; tries again for `patience` as long as nobody answers there. `network`: tcp://HOST:PORT.
// kInvalidArgument: that is no network. kUnavailable: nobody answers, or who answers is no
// rendezvous. kPermissionDenied: it has another key. Other codes: of ReadKey.
absl::StatusOr<CalledRendezvous> CallRendezvous(const std::string& network,
                                                const std::string& key_file,
                                                coro::Duration patience);

// Waits until the next message is there, `patience` at the most. False: none came.
bool Await(Stream& stream, std::span<const std::byte>& message, coro::Duration patience);

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_SOCKETS_CALL_H_
