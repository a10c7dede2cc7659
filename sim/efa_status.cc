#include "drydock/sim/efa_status.h"

namespace drydock::sim {

const char* StatusText(std::uint8_t status) {
  switch (static_cast<EfaStatus>(status)) {
    case EfaStatus::kOk:
      return "success";
    case EfaStatus::kFlushed:
      return "flushed: the address handle or queue pair was destroyed";
    case EfaStatus::kLocalQueuePairInternal:
      return "malformed work request";
    case EfaStatus::kLocalUnsupportedOperation:
      return "operation not supported by the device";
    case EfaStatus::kLocalInvalidAddressHandle:
      return "invalid address handle";
    case EfaStatus::kLocalInvalidLkey:
      return "invalid local key, range or right";
    case EfaStatus::kLocalBadLength:
      return "message too long";
    case EfaStatus::kRemoteBadAddress:
      return "invalid remote key, range or right";
    case EfaStatus::kRemoteAbort:
      return "the peer's device was reset";
    case EfaStatus::kRemoteBadQueuePair:
      return "no such queue pair at the destination";
    case EfaStatus::kRemoteNotReady:
      return "receiver not ready";
    case EfaStatus::kRemoteBadLength:
      return "posted receive too short";
    case EfaStatus::kRemoteBadStatus:
      return "unexpected answer from the peer";
    case EfaStatus::kLocalUnresponsivePeer:
      return "peer stopped answering";
    case EfaStatus::kRemoteUnknownPeer:
      return "the target does not know us";
    case EfaStatus::kLocalUnreachablePeer:
      return "peer never answered";
    case EfaStatus::kRemoteFeatureMismatch:
      return "the peer lacks a feature that the request needs";
  }
  return "unknown status";
}

}  // namespace drydock::sim
