// A rendezvous in a process of its own, which starts and ends by itself.

#ifndef DRYDOCK_SIM_HOSTS_SOCKETS_SERVE_H_
#define DRYDOCK_SIM_HOSTS_SOCKETS_SERVE_H_

#include <string>

#include "absl/status/statusor.h"
#include "drydock/sim/hosts/sockets/network_name.h"

namespace drydock::sim {

// If the address is this computer's and is free, serves there: makes the key if there is none, and
// leaves a process behind that ends when the calling process has ended and all members and programs
// (see KeepThroughExec) have left.
// That process is no child of the caller and has none of its files. False: another process serves,
// or is to. Errors: those of SocketAddress::Of, ReadOrMakeKey and Socket::Bind. Not to be called
// while the process has other threads at work.
absl::StatusOr<bool> ServeIfFirst(const NetworkName& network, const std::string& key_file);

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_SOCKETS_SERVE_H_
