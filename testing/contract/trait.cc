#include "drydock/testing/contract/trait.h"

namespace drydock::contract {

std::string_view NameOf(Trait trait) {
  switch (trait) {
    case Trait::kRemoteErrors:
      return "remote_errors";
    case Trait::kClosedPeerErrors:
      return "closed_peer_errors";
    case Trait::kRemoteWriteLength:
      return "remote_write_length";
    case Trait::kSourceTruncation:
      return "source_truncation";
    case Trait::kReadProtection:
      return "read_protection";
    case Trait::kSilentWriteProtection:
      return "silent_write_protection";
    case Trait::kRevocation:
      return "revocation";
    case Trait::kFailureIsolation:
      return "failure_isolation";
    case Trait::kCloseInFlight:
      return "close_in_flight";
    case Trait::kLongTruncation:
      return "long_truncation";
    case Trait::kUnexpectedWildcard:
      return "unexpected_wildcard";
    case Trait::kErrorCounts:
      return "error_counts";
    case Trait::kUnreachableErrors:
      return "unreachable_errors";
  }
  return "unknown";
}

}  // namespace drydock::contract
