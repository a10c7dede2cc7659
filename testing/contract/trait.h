// Traits: differences between backends that the contract allows and that no program can query. Each
// backend of the suite lists its traits, and the behaviours expect accordingly. A difference that a
// program can query is a fabric::Capability.

#ifndef DRYDOCK_TESTING_CONTRACT_TRAIT_H_
#define DRYDOCK_TESTING_CONTRACT_TRAIT_H_

#include <cstdint>
#include <set>
#include <string_view>

namespace drydock::contract {

enum class Trait : std::uint8_t {
  kRemoteErrors,           // an operation that the target refuses fails at its initiator
  kClosedPeerErrors,       // an operation to a closed endpoint fails instead of waiting
  kRemoteWriteLength,      // the completion of a remote write with immediate tells its length
  kSourceTruncation,       // the sender of a message longer than its receive is told (kTruncated)
  kReadProtection,         // a read is held to the key and the range of a region
  kSilentWriteProtection,  // a write without immediate is held to key, range and right
  kRevocation,             // closing a region ends writes that have begun to arrive in it
  kFailureIsolation,       // a request that fails leaves others to the same peer alone
  kCloseInFlight,          // an endpoint can be closed while its requests are under way
  kLongTruncation,         // long messages that do not fit their receive are cut as short ones are
  kUnexpectedWildcard,     // a tagged receive that ignores bits finds messages that came before it
  kErrorCounts,            // counters tell failures, too
  kUnreachableErrors,      // an operation to an address that no endpoint has fails during a test
};

using Traits = std::set<Trait>;

// For the log of a test that does not apply: snake_case. Static storage.
std::string_view NameOf(Trait trait);

}  // namespace drydock::contract

#endif  // DRYDOCK_TESTING_CONTRACT_TRAIT_H_
