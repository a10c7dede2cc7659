// The value of --network: where the machines of several computers meet.

#ifndef DRYDOCK_SIM_HOSTS_SOCKETS_NETWORK_NAME_H_
#define DRYDOCK_SIM_HOSTS_SOCKETS_NETWORK_NAME_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace drydock::sim {

// "tcp://node1:7471": the host is a name or an address, an IPv6 address in brackets.
struct NetworkName {
  std::string host;
  std::uint16_t port = 0;

  std::string Text() const;
};

// kInvalidArgument: that is none.
absl::StatusOr<NetworkName> ParseNetworkName(absl::string_view text);

// The network that "tcp" stands for: the host of Open MPI 4's mpirun (OMPI_MCA_orte_hnp_uri), or
// the first one of a step of Slurm's (SLURM_STEP_NODELIST), and a port of 20,000 to 29,999 by the
// job's number. `variable` is getenv. kNotFound: neither has started us, or Open MPI 5 has, which
// says no host. kInvalidArgument: their variables are not understood.
absl::StatusOr<NetworkName> NetworkOfLauncher(
    const std::function<const char*(const char*)>& variable);

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_SOCKETS_NETWORK_NAME_H_
