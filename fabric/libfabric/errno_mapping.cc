#include "drydock/fabric/libfabric/errno_mapping.h"

#include <rdma/fi_errno.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "drydock/fabric/libfabric/library.h"

namespace drydock::fabric::libfabric {
namespace {

// The device's own are of 8 bits. Those of EFA's software start at 4096 (ofiwg/libfabric
// prov/efa/src/efa_errno.h).
constexpr int kMostEfaStatus = 255;
constexpr int kEfaEstablishedPeerUnresponsive = 4124;
constexpr int kEfaUnestablishedPeerUnresponsive = 4126;
constexpr int kEfaPeerAborted = 4127;  // its errno is FI_ECANCELED, as if we had given it up

}  // namespace

ErrorCode FromErrno(int number) {
  switch (std::abs(number)) {
    case FI_SUCCESS:
      return ErrorCode::kOk;
    case FI_EAGAIN:
      return ErrorCode::kAgain;
    case FI_ECANCELED:
      return ErrorCode::kCanceled;
    case FI_EINVAL:
    case FI_EBADFLAGS:
    case FI_EBADF:  // of a dmabuf that is no file
      return ErrorCode::kInvalidArgument;
    case FI_EOPNOTSUPP:
    case FI_ENOSYS:
      return ErrorCode::kUnsupported;
    case FI_EOPBADSTATE:
      return ErrorCode::kClosed;
    case FI_EBUSY:
      return ErrorCode::kBusy;
    case FI_ENOMEM:
      return ErrorCode::kNoMemory;
    case FI_EACCES:
    case FI_EKEYREJECTED:
    case FI_ENOKEY:
      return ErrorCode::kRemoteAccess;
    case FI_EMSGSIZE:
      return ErrorCode::kMessageTooLong;
    case FI_ETRUNC:
      return ErrorCode::kTruncated;
    case FI_ENOTCONN:
      return ErrorCode::kBadDestination;
    case FI_ENORX:
      return ErrorCode::kReceiverNotReady;
    case FI_ECONNABORTED:
    case FI_ECONNRESET:
      return ErrorCode::kPeerAborted;
    case FI_ETIMEDOUT:
      return ErrorCode::kPeerUnresponsive;
    case FI_EHOSTUNREACH:
    case FI_ECONNREFUSED:
      return ErrorCode::kUnreachable;
    case FI_EREMOTEIO:
      return ErrorCode::kBadResponse;
    case FI_EIO:
      return ErrorCode::kDeviceFault;
    case FI_EOVERRUN:
      return ErrorCode::kOverrun;
    default:
      return ErrorCode::kOther;
  }
}

ErrorCode FromErrorEntry(bool is_efa, int error, int provider_error) {
  if (is_efa && provider_error > 0 && provider_error <= kMostEfaStatus) {
    return FromEfaStatus(static_cast<std::uint8_t>(provider_error));
  }
  if (is_efa && (provider_error == kEfaEstablishedPeerUnresponsive ||
                 provider_error == kEfaUnestablishedPeerUnresponsive)) {
    return ErrorCode::kPeerUnresponsive;
  }
  if (is_efa && provider_error == kEfaPeerAborted) return ErrorCode::kPeerAborted;
  const ErrorCode code = FromErrno(error);
  return code == ErrorCode::kOk ? ErrorCode::kOther : code;  // an error entry is never a success
}

absl::Status ControlError(int number, absl::string_view what) {
  return absl::Status(
      Describe(FromErrno(number)).status,
      absl::StrCat(what, ": ", InstalledLibrary()->strerror(std::abs(number)), " (", number, ")"));
}

}  // namespace drydock::fabric::libfabric
