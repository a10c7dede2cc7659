// EFA's 32-byte address: GID, queue pair number, qkey.
//
// Layout (ofiwg/libfabric prov/efa): 16 bytes GID; 2 bytes queue pair number and 2 of padding; 4
// bytes qkey; 8 bytes that mean something inside one process only and are zero on the wire. Numbers
// are little-endian.

#ifndef DRYDOCK_SIM_EFA_ADDRESS_H_
#define DRYDOCK_SIM_EFA_ADDRESS_H_

#include <array>
#include <cstdint>

#include "absl/status/statusor.h"
#include "drydock/fabric/address.h"

namespace drydock::sim {

using Gid = std::array<std::uint8_t, 16>;

struct EfaAddress {
  Gid gid{};
  std::uint16_t queue_pair = 0;
  std::uint32_t qkey = 0;

  fabric::Address Encode() const;

  // kInvalidArgument: not 32 bytes, or a GID of zeros. Anything else is an address, whether an
  // endpoint has it or not.
  static absl::StatusOr<EfaAddress> Decode(const fabric::Address& address);
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_EFA_ADDRESS_H_
