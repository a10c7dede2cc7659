// Which NICs a transfer's pages go out by.

#ifndef DRYDOCK_FABRIC_ASYNC_TRANSFER_POLICY_H_
#define DRYDOCK_FABRIC_ASYNC_TRANSFER_POLICY_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace drydock::fabric::async::transfer {

// Under every policy, other NICs replace one that died or has no way to the peer. kByPeer and
// kPinned wait for room in the window of their one NIC; the others pass over a NIC whose window is
// full, so that a slow NIC gets less.
enum class Policy : std::uint8_t {
  kRoundRobin,  // one NIC after the other
  kSplit,       // as kRoundRobin; Engine::Write cuts what it is given into a piece for each NIC
  kByPeer,      // all that goes to one peer by one NIC: the peer's number, modulo the NICs
  kByBytes,     // the NIC that is expected to be done with it first
  kPinned,      // the NIC that TransferOptions::nic names
  kNearFirst,   // the first NIC of EngineOptions::near_first that has room
};
inline constexpr int kPolicyCount = 6;

// "round-robin", "split", "by-peer", "by-bytes", "pinned", "near-first".
std::string_view Name(Policy policy);
// kInvalidArgument lists the names that exist.
absl::StatusOr<Policy> ParsePolicy(absl::string_view name);

}  // namespace drydock::fabric::async::transfer

#endif  // DRYDOCK_FABRIC_ASYNC_TRANSFER_POLICY_H_
