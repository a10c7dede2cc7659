#include "drydock/sim/rdm/outcome.h"

namespace drydock::sim::rdm {

using fabric::ErrorCode;

std::string_view ProviderErrorText(std::int32_t provider_error) {
  switch (provider_error) {
    case kErrorCanceled:
      return "receive taken back";
    case kErrorTruncated:
      return "message longer than its receive";
    case kErrorReceiveCopy:
      return "cannot copy into the receive: local key, range or right invalid";
    case kErrorRemoteAddress:
      return "the target refused the address, the key or the right";
    case kErrorEstablishedPeerUnresponsive:
      return "peer stopped answering after its handshake";
    case kErrorUnestablishedPeerUnresponsive:
      return "peer stopped answering before its handshake";
    case kErrorPeerAborted:
      return "one side gave up the transfer";
    default:
      return "";
  }
}

bool MeansPeerIsGone(ErrorCode error) {
  return error == ErrorCode::kBadDestination || error == ErrorCode::kPeerUnresponsive ||
         error == ErrorCode::kUnreachable || error == ErrorCode::kPeerAborted;
}

Outcome FromDevice(ErrorCode error, std::int32_t provider_error, bool shook_hands) {
  if (error != ErrorCode::kPeerUnresponsive) return {error, provider_error};
  return {error,
          shook_hands ? kErrorEstablishedPeerUnresponsive : kErrorUnestablishedPeerUnresponsive};
}

Outcome FromPeerError(std::uint64_t number) {
  if (number == std::uint64_t{kErrorRemoteAddress}) {
    return {ErrorCode::kRemoteAccess, kErrorRemoteAddress};
  }
  return {ErrorCode::kPeerAborted, kErrorPeerAborted};
}

}  // namespace drydock::sim::rdm
