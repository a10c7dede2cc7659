// A short proof that the writer of some bytes knows a key: SipHash-2-4 with 128 bits of result
// (Aumasson and Bernstein, "SipHash: a fast short-input PRF", and its reference code).

#ifndef DRYDOCK_SIM_HOSTS_SOCKETS_MAC_H_
#define DRYDOCK_SIM_HOSTS_SOCKETS_MAC_H_

#include <array>
#include <cstddef>
#include <span>

namespace drydock::sim {

using Key = std::array<std::byte, 16>;
using Mac = std::array<std::byte, 16>;

Mac MacOf(const Key& key, std::span<const std::byte> bytes);

// Takes as long for any two: how long it takes says nothing of where they differ.
bool IsSame(const Mac& one, const Mac& other);

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_SOCKETS_MAC_H_
