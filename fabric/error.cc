#include "drydock/fabric/error.h"

#include <array>
#include <cstddef>

#include "absl/strings/str_cat.h"

namespace drydock::fabric {
namespace {

using absl::StatusCode;

// Sources of the EFA column: ofiwg/libfabric prov/efa/src/efa_errno.h, linux-rdma/rdma-core
// providers/efa/verbs.c.
constexpr std::array<ErrorInfo, kErrorCodeCount> kTable = {{
    {ErrorCode::kOk, "Ok", "FI_SUCCESS", "0", StatusCode::kOk, false, "success"},
    {ErrorCode::kAgain, "Again", "FI_EAGAIN", "-", StatusCode::kUnavailable, true,
     "queue full or not ready: read the completion queue, then retry"},
    {ErrorCode::kCanceled, "Canceled", "FI_ECANCELED", "1", StatusCode::kCancelled, false,
     "canceled, or flushed when its endpoint closed"},
    {ErrorCode::kInvalidArgument, "InvalidArgument", "FI_EINVAL/FI_EBADFLAGS/FI_EBADF", "-",
     StatusCode::kInvalidArgument, false, "the request is invalid"},
    {ErrorCode::kUnsupported, "Unsupported", "FI_EOPNOTSUPP/FI_ENOSYS", "3",
     StatusCode::kUnimplemented, false, "not supported by this backend or device"},
    {ErrorCode::kClosed, "Closed", "FI_EOPBADSTATE", "-", StatusCode::kFailedPrecondition, false,
     "the object was closed"},
    {ErrorCode::kBusy, "Busy", "FI_EBUSY", "-", StatusCode::kFailedPrecondition, true,
     "something still refers to the object: close that first"},
    {ErrorCode::kNoMemory, "NoMemory", "FI_ENOMEM", "-", StatusCode::kResourceExhausted, true,
     "out of memory, locked memory or device resources"},
    {ErrorCode::kLocalAccess, "LocalAccess", "FI_EINVAL", "5", StatusCode::kPermissionDenied, false,
     "local key, range or access right invalid"},
    {ErrorCode::kRemoteAccess, "RemoteAccess", "FI_EINVAL/FI_EACCES/FI_EKEYREJECTED/FI_ENOKEY", "7",
     StatusCode::kPermissionDenied, false, "remote key, range or access right invalid"},
    {ErrorCode::kMessageTooLong, "MessageTooLong", "FI_EMSGSIZE", "6", StatusCode::kOutOfRange,
     false, "longer than this fabric allows"},
    {ErrorCode::kTruncated, "Truncated", "FI_ETRUNC/FI_EMSGSIZE", "11", StatusCode::kOutOfRange,
     false, "the posted receive is shorter than the message"},
    {ErrorCode::kUnknownPeer, "UnknownPeer", "FI_ENOTCONN", "14", StatusCode::kNotFound, false,
     "peer not in the address vector, or we are not in the peer's"},
    {ErrorCode::kBadDestination, "BadDestination", "FI_ENOTCONN", "9", StatusCode::kNotFound, false,
     "no such queue pair at the peer (closed, restarted, or stale address)"},
    {ErrorCode::kReceiverNotReady, "ReceiverNotReady", "FI_ENORX", "10", StatusCode::kUnavailable,
     true, "the peer has posted no receive"},
    {ErrorCode::kPeerAborted, "PeerAborted", "FI_ECONNABORTED/FI_ECONNRESET", "8",
     StatusCode::kUnavailable, false, "the peer ended the exchange"},
    {ErrorCode::kPeerUnresponsive, "PeerUnresponsive", "FI_ECONNABORTED/FI_ETIMEDOUT", "13",
     StatusCode::kUnavailable, false, "the peer stopped answering"},
    {ErrorCode::kUnreachable, "Unreachable", "FI_EHOSTUNREACH/FI_ECONNREFUSED", "15",
     StatusCode::kUnavailable, false,
     "the peer never answered (security group, subnet or wrong address)"},
    {ErrorCode::kBadResponse, "BadResponse", "FI_EREMOTEIO", "12", StatusCode::kInternal, false,
     "unexpected response from the peer"},
    {ErrorCode::kFeatureMismatch, "FeatureMismatch", "FI_EINVAL", "18",
     StatusCode::kFailedPrecondition, false, "the peer lacks a feature that the request needs"},
    {ErrorCode::kDeviceFault, "DeviceFault", "FI_EINVAL/FI_EIO", "2, 4", StatusCode::kInternal,
     false, "internal error of the local device or queue pair"},
    {ErrorCode::kOverrun, "Overrun", "FI_EOVERRUN", "-", StatusCode::kDataLoss, false,
     "the completion queue lost entries"},
    {ErrorCode::kDeadlineExceeded, "DeadlineExceeded", "-", "-", StatusCode::kDeadlineExceeded,
     true, "the caller's deadline came first"},
    {ErrorCode::kOther, "Other", "FI_EOTHER", "-", StatusCode::kUnknown, false,
     "see the provider's number"},
}};

constexpr bool RowsFollowTheEnum() {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    if (static_cast<std::size_t>(kTable[i].code) != i) return false;
  }
  return true;
}
static_assert(RowsFollowTheEnum());

}  // namespace

std::span<const ErrorInfo> ErrorTable() { return kTable; }

const ErrorInfo& Describe(ErrorCode code) {
  const auto index = static_cast<std::size_t>(code);
  return index < kTable.size() ? kTable[index] : kTable.back();
}

std::string_view Name(ErrorCode code) { return Describe(code).name; }

ErrorCode FromEfaStatus(std::uint8_t status) {
  switch (status) {
    case 0:
      return ErrorCode::kOk;
    case 1:
      return ErrorCode::kCanceled;
    case 2:
      return ErrorCode::kDeviceFault;
    case 3:
      return ErrorCode::kUnsupported;
    case 4:
      return ErrorCode::kDeviceFault;
    case 5:
      return ErrorCode::kLocalAccess;
    case 6:
      return ErrorCode::kMessageTooLong;
    case 7:
      return ErrorCode::kRemoteAccess;
    case 8:
      return ErrorCode::kPeerAborted;
    case 9:
      return ErrorCode::kBadDestination;
    case 10:
      return ErrorCode::kReceiverNotReady;
    case 11:
      return ErrorCode::kTruncated;
    case 12:
      return ErrorCode::kBadResponse;
    case 13:
      return ErrorCode::kPeerUnresponsive;
    case 14:
      return ErrorCode::kUnknownPeer;
    case 15:
      return ErrorCode::kUnreachable;
    case 18:
      return ErrorCode::kFeatureMismatch;
    default:
      return ErrorCode::kOther;
  }
}

absl::Status ToStatus(ErrorCode code, absl::string_view what) {
  if (code == ErrorCode::kOk) return absl::OkStatus();
  const ErrorInfo& info = Describe(code);
  return absl::Status(
      info.status,
      absl::StrCat(what, ": ", absl::string_view(info.meaning.data(), info.meaning.size())));
}

}  // namespace drydock::fabric
