// From libfabric's numbers to the codes of the contract. The only place that decides.

#ifndef DRYDOCK_FABRIC_LIBFABRIC_ERRNO_MAPPING_H_
#define DRYDOCK_FABRIC_LIBFABRIC_ERRNO_MAPPING_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "drydock/fabric/error.h"

namespace drydock::fabric::libfabric {

// The code of an FI_E* number, positive or negative (some providers report negative ones in error
// entries).
ErrorCode FromErrno(int number);

// The code of a failed completion: never kOk. EFA's provider number is the device's own status
// below 256, and tells more than the errno, which is FI_EINVAL for local and remote faults alike;
// other providers' numbers mean nothing to us.
ErrorCode FromErrorEntry(bool is_efa, int error, int provider_error);

// The status of a control call that failed: "<what>: <libfabric's words> (<number>)".
absl::Status ControlError(int number, absl::string_view what);

}  // namespace drydock::fabric::libfabric

#endif  // DRYDOCK_FABRIC_LIBFABRIC_ERRNO_MAPPING_H_
