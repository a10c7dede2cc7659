// Names of a network of processes, and the GIDs of the NICs in it.
//
//   fe80 : 0000 0000 0000 : fabric, 5 bytes : 0xed : machine : NIC
//
// A machine that reads a GID of its own network knows which NIC it names, present or not.

#ifndef DRYDOCK_SIM_HOSTS_GID_H_
#define DRYDOCK_SIM_HOSTS_GID_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "drydock/sim/efa_address.h"

namespace drydock::sim {

// A number that tells the network of this name and seed from others on this computer: 40 bits.
std::uint64_t FabricNumber(absl::string_view fabric, std::uint64_t seed);

// How files of all networks of this user begin: "drydock-efa-1000-".
std::string FabricFilePrefix();
// How files of the network begin, of this user: "drydock-efa-1000-0123456789".
std::string FabricFileName(std::uint64_t fabric);

struct NicPlace {
  std::uint8_t machine = 0;
  std::uint8_t nic = 0;
};

Gid GidOf(std::uint64_t fabric, NicPlace place);
// The network that a GID of GidOf names. Absent: it is of none.
std::optional<std::uint64_t> FabricOf(const Gid& gid);
// Absent: a GID of another network, or of none.
std::optional<NicPlace> PlaceOf(std::uint64_t fabric, const Gid& gid);

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_GID_H_
