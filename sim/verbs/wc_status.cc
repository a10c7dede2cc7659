#include "drydock/sim/verbs/wc_status.h"

#include <array>

#include "drydock/sim/efa_status.h"

namespace drydock::sim::verbs {

ibv_wc_status WcStatusOf(std::uint8_t efa_status) {
  switch (static_cast<EfaStatus>(efa_status)) {
    case EfaStatus::kOk:
      return IBV_WC_SUCCESS;
    case EfaStatus::kFlushed:
      return IBV_WC_WR_FLUSH_ERR;
    case EfaStatus::kLocalQueuePairInternal:
    case EfaStatus::kLocalUnsupportedOperation:
    case EfaStatus::kLocalInvalidAddressHandle:
      return IBV_WC_LOC_QP_OP_ERR;
    case EfaStatus::kLocalInvalidLkey:
      return IBV_WC_LOC_PROT_ERR;
    case EfaStatus::kLocalBadLength:
      return IBV_WC_LOC_LEN_ERR;
    case EfaStatus::kRemoteBadAddress:
      return IBV_WC_REM_ACCESS_ERR;
    case EfaStatus::kRemoteAbort:
      return IBV_WC_REM_ABORT_ERR;
    case EfaStatus::kRemoteBadQueuePair:
      return IBV_WC_REM_INV_RD_REQ_ERR;
    case EfaStatus::kRemoteNotReady:
      return IBV_WC_RNR_RETRY_EXC_ERR;
    case EfaStatus::kRemoteBadLength:
    case EfaStatus::kRemoteFeatureMismatch:
      return IBV_WC_REM_INV_REQ_ERR;
    case EfaStatus::kRemoteBadStatus:
      return IBV_WC_BAD_RESP_ERR;
    case EfaStatus::kLocalUnresponsivePeer:
    case EfaStatus::kLocalUnreachablePeer:
      return IBV_WC_RESP_TIMEOUT_ERR;
    case EfaStatus::kRemoteUnknownPeer:
      return IBV_WC_REM_OP_ERR;
    default:
      return IBV_WC_GENERAL_ERR;
  }
}

namespace {

// libibverbs' own words, in the order of ibv_wc_status: logs of programs are searched for them.
constexpr std::array<const char*, 24> kTexts = {
    "success",
    "local length error",
    "local QP operation error",
    "local EE context operation error",
    "local protection error",
    "Work Request Flushed Error",
    "memory management operation error",
    "bad response error",
    "local access error",
    "remote invalid request error",
    "remote access error",
    "remote operation error",
    "transport retry counter exceeded",
    "RNR retry counter exceeded",
    "local RDD violation error",
    "remote invalid RD request",
    "aborted error",
    "invalid EE context number",
    "invalid EE context state",
    "fatal error",
    "response timeout error",
    "general error",
    "TM error",
    "TM software rendezvous",
};

}  // namespace
}  // namespace drydock::sim::verbs

extern "C" const char* ibv_wc_status_str(ibv_wc_status status) {
  const auto index = static_cast<std::size_t>(status);
  return index < drydock::sim::verbs::kTexts.size() ? drydock::sim::verbs::kTexts[index]
                                                    : "unknown";
}
