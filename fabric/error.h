// The codes of failed operations, and the table of their meanings.
//
// On the data path an error is an ErrorCode, a plain value. Above it (opening an object,
// registering memory, printing) it becomes an absl::Status, once, by ToStatus. docs/errors.md has
// the same table; a test keeps the two equal.

#ifndef DRYDOCK_FABRIC_ERROR_H_
#define DRYDOCK_FABRIC_ERROR_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace drydock::fabric {

// Finer than libfabric's errno, because EFA's device status is: FI_EINVAL is both a bad local key
// (status 5) and a bad remote key (7), FI_ENOTCONN both a closed peer (9) and one that has not
// inserted us (14).
enum class ErrorCode : std::uint8_t {
  kOk,
  kAgain,             // nothing happened: read the completion queue, then retry
  kCanceled,          // ended by closing its endpoint, or by a cancel that was granted
  kInvalidArgument,   // the request itself is wrong
  kUnsupported,       // this backend or device lacks the operation
  kClosed,            // the object was closed
  kBusy,              // something still refers to the object
  kNoMemory,          // out of memory, of locked memory, or of a device resource
  kLocalAccess,       // local key invalid, range outside of its region, or no right
  kRemoteAccess,      // remote key invalid, range outside of its region, or no right
  kMessageTooLong,    // longer than the limit for its kind
  kTruncated,         // the posted receive is shorter than the message
  kUnknownPeer,       // the peer is not in the address vector: ours, or the target's for us
  kBadDestination,    // no such queue pair at the peer: closed, restarted, or a stale address
  kReceiverNotReady,  // no receive was posted at the peer, and retries are finite and used up
  kPeerAborted,       // the peer ended the exchange
  kPeerUnresponsive,  // the peer answered before and is silent now
  kUnreachable,       // the peer never answered
  kBadResponse,       // the peer's answer makes no sense
  kFeatureMismatch,   // the peer lacks a feature that the request needs
  kDeviceFault,       // internal error of the local device or queue pair
  kOverrun,           // a completion queue lost entries
  kDeadlineExceeded,  // the caller's own deadline came first
  kOther,             // none of these: see the provider's number
};

inline constexpr std::size_t kErrorCodeCount = static_cast<std::size_t>(ErrorCode::kOther) + 1;

// One row of the table.
struct ErrorInfo {
  ErrorCode code;
  std::string_view name;        // as in the enum, without the k
  std::string_view libfabric;   // symbols of fi_errno.h, "/" between several; "-" for none
  std::string_view efa_status;  // device's completion status, ", " between several; "-" for none
  absl::StatusCode status;
  bool retryable;  // may the same request succeed later, with no change by the caller?
  std::string_view meaning;
};

// All rows, in the order of the enum. Static storage.
std::span<const ErrorInfo> ErrorTable();

// The row of a code, and its name. Static storage.
const ErrorInfo& Describe(ErrorCode code);
std::string_view Name(ErrorCode code);

// The code of EFA's 8-bit completion status (0 to 15 and 18; kOther for numbers that EFA does not
// define).
ErrorCode FromEfaStatus(std::uint8_t status);

// A Status whose message is "<what>: <meaning>". kOk gives OkStatus.
absl::Status ToStatus(ErrorCode code, absl::string_view what);

}  // namespace drydock::fabric

#endif  // DRYDOCK_FABRIC_ERROR_H_
