// A short proof that whoever wrote some bytes knows a key: SipHash-2-4 with 128 bits of result
// (Aumasson and Bernstein, "SipHash: a fast short-input PRF", and its reference code).

#ifndef SIM_HOSTS_SOCKETS_MAC_H_
#define SIM_HOSTS_SOCKETS_MAC_H_

#include <array>
#include <cstddef>
#include <span>

namespace sim {

using Key = std::array<std::byte, 16>;
using Mac = std::array<std::byte, 16>;

Mac MacOf(const Key& key, std::span<const std::byte> bytes);

// Takes as long for any two: how long it takes says nothing of where they differ.
bool IsSame(const Mac& one, const Mac& other);

}  // namespace sim

#endif  // SIM_HOSTS_SOCKETS_MAC_H_
