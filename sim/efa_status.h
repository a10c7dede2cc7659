// The completion statuses of an EFA device: the 8 bits in a completion entry, and the provider's
// number of a failure.
//
// Numbers and meaning: ofiwg/libfabric prov/efa/src/efa_errno.h, linux-rdma/rdma-core
// providers/efa/verbs.c, amzn/amzn-drivers kernel/linux/efa/SRD.txt. The cause of each here:
// docs/errors.md.

#ifndef DRYDOCK_SIM_EFA_STATUS_H_
#define DRYDOCK_SIM_EFA_STATUS_H_

#include <cstdint>

namespace drydock::sim {

enum class EfaStatus : std::uint8_t {
  kOk = 0,
  kFlushed = 1,                 // the address handle was destroyed with the work under way
  kLocalQueuePairInternal = 2,  // the work request makes no sense to the device
  kLocalUnsupportedOperation = 3,
  kLocalInvalidAddressHandle = 4,
  kLocalInvalidLkey = 5,
  kLocalBadLength = 6,
  kRemoteBadAddress = 7,
  kRemoteAbort = 8,  // the peer's device was reset
  kRemoteBadQueuePair = 9,
  kRemoteNotReady = 10,
  kRemoteBadLength = 11,
  kRemoteBadStatus = 12,  // the peer's answer is one that no device gives
  kLocalUnresponsivePeer = 13,
  kRemoteUnknownPeer = 14,
  kLocalUnreachablePeer = 15,
  kRemoteFeatureMismatch = 18,
};

// True for the numbers above.
constexpr bool IsKnown(std::uint8_t status) { return status <= 15 || status == 18; }

// True for statuses that only the peer can have found out: it answered.
constexpr bool IsAnswer(EfaStatus status) {
  switch (status) {
    case EfaStatus::kOk:
    case EfaStatus::kRemoteBadAddress:
    case EfaStatus::kRemoteAbort:
    case EfaStatus::kRemoteBadQueuePair:
    case EfaStatus::kRemoteNotReady:
    case EfaStatus::kRemoteBadLength:
    case EfaStatus::kRemoteBadStatus:
    case EfaStatus::kRemoteUnknownPeer:
    case EfaStatus::kRemoteFeatureMismatch:
      return true;
    default:
      return false;
  }
}

// For a person to read. Static storage.
const char* StatusText(std::uint8_t status);

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_EFA_STATUS_H_
