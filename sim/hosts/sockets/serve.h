// A rendezvous in a process of its own, which nobody has to start or to stop.

#ifndef DRYDOCK_SIM_HOSTS_SOCKETS_SERVE_H_
#define DRYDOCK_SIM_HOSTS_SOCKETS_SERVE_H_

#include <string>

#include "absl/status/statusor.h"
#include "drydock/sim/hosts/sockets/network_name.h"

namespace drydock::sim {

// If the address is this computer's, and nobody has it, serves there: makes the key where there is
// none, and leaves a process behind that ends when the calling one has ended, and all members have
// left. That is no child of the caller's, and has none of its files. False: others serve, or are
// to. Errors: of SocketAddress::Of, ReadOrMakeKey and Socket::Bind. Not while other threads work.
absl::StatusOr<bool> ServeIfFirst(const NetworkName& network, const std::string& key_file);

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_SOCKETS_SERVE_H_
