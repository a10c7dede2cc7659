// How a piece of work ended, and the provider's own numbers for it.

#ifndef DRYDOCK_SIM_RDM_OUTCOME_H_
#define DRYDOCK_SIM_RDM_OUTCOME_H_

#include <cstdint>
#include <string_view>

#include "drydock/fabric/error.h"

namespace drydock::sim::rdm {

struct Outcome {
  fabric::ErrorCode error = fabric::ErrorCode::kOk;
  std::int32_t provider_error = 0;

  bool ok() const { return error == fabric::ErrorCode::kOk; }
};

// Numbers of failures that the software finds (ofiwg/libfabric prov/efa/src/efa_errno.h); those of
// the device are below 4096. Negative ones are libfabric's own, which its queues report as they are
// (include/ofi_util.h, prov/util/src/util_cq.c).
enum ProviderError : std::int32_t {
  kErrorCanceled = -125,   // FI_ECANCELED
  kErrorTruncated = -265,  // FI_ETRUNC
  kErrorReceiveCopy = 4107,
  kErrorRemoteAddress = 4111,
  kErrorEstablishedPeerUnresponsive = 4124,
  kErrorUnestablishedPeerUnresponsive = 4126,
  kErrorPeerAborted = 4127,
};

// Words for the numbers above; empty for others.
std::string_view ProviderErrorText(std::int32_t provider_error);

// True when this failure of one request says that the peer will answer no other either.
bool MeansPeerIsGone(fabric::ErrorCode error);

// The program's error for the device's `error`: that of a silent peer depends on whether it had
// ever shaken hands (prov/efa/src/rdm/efa_rdm_pke_utils.h); every other is the device's.
Outcome FromDevice(fabric::ErrorCode error, std::int32_t provider_error, bool shook_hands);

// The outcome for the number in a peer's error packet. It comes from outside, and may be any
// number.
Outcome FromPeerError(std::uint64_t number);

}  // namespace drydock::sim::rdm

#endif  // DRYDOCK_SIM_RDM_OUTCOME_H_
