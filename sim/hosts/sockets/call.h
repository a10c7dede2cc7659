// A call to the rendezvous, up to the point where both ends have proven that they have the key.

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

// Waits; tries again for `patience` as long as the address does not answer. `network`:
// tcp://HOST:PORT. kInvalidArgument: `network` names no network. kUnavailable: the address does not
// answer, or is not a rendezvous. kPermissionDenied: the rendezvous has another key. Other codes:
// those of ReadKey.
absl::StatusOr<CalledRendezvous> CallRendezvous(const std::string& network,
                                                const std::string& key_file,
                                                coro::Duration patience);

// The rendezvous stays for the program that this process becomes by exec, which may open a NIC much
// later: the connection stays open until the program has ended, and with it all its children that
// have not closed their copy of the descriptor, or until it closes the descriptor itself, 100
// or above where the limit on open files allows it. To be called once.
void KeepThroughExec(Stream stream);

// Waits for the next message, `patience` at the most. False: none came.
bool Await(Stream& stream, std::span<const std::byte>& message, coro::Duration patience);

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_SOCKETS_CALL_H_
