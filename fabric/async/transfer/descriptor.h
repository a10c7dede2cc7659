// How engines tell each other where they are: the addresses of a peer's NICs, and memory with a key
// for each of them. Plain values that travel as bytes; the parser trusts nothing.

#ifndef DRYDOCK_FABRIC_ASYNC_TRANSFER_DESCRIPTOR_H_
#define DRYDOCK_FABRIC_ASYNC_TRANSFER_DESCRIPTOR_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/fabric/address.h"
#include "drydock/fabric/memory.h"

namespace drydock::fabric::async::transfer {

// More NICs than any machine has (p5: 32).
inline constexpr std::size_t kMostNics = 64;

// A peer: the address of each of its NICs' endpoints, by NIC.
struct PeerDescriptor {
  PeerDescriptor() = default;  // no aggregate: see docs/coroutine-traps.md
  std::vector<Address> nics;

  std::vector<std::byte> Serialize() const;
  // kInvalidArgument: one line that says what is wrong: not such bytes, no NIC, more than
  // kMostNics, an address that is empty or too long, two NICs with one address, bytes left over.
  static absl::StatusOr<PeerDescriptor> Parse(std::span<const std::byte> bytes);

  friend bool operator==(const PeerDescriptor&, const PeerDescriptor&) = default;
};

// Memory of a peer, as each of its NICs names byte 0 of it.
struct MemoryDescriptor {
  MemoryDescriptor() = default;  // no aggregate, either
  std::uint64_t length_bytes = 0;
  std::vector<RemoteBuffer> nics;

  std::vector<std::byte> Serialize() const;
  // kInvalidArgument: the same; or memory of no bytes, or that goes past the last address. Whether
  // there are as many NICs as the peer has, Engine::Import checks; keys are the target's to judge.
  static absl::StatusOr<MemoryDescriptor> Parse(std::span<const std::byte> bytes);
};

}  // namespace drydock::fabric::async::transfer

#endif  // DRYDOCK_FABRIC_ASYNC_TRANSFER_DESCRIPTOR_H_
