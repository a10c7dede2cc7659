// Cancellation of a posted receive: a power of endpoints whose NIC has Capability::kCancel.

#ifndef FABRIC_CANCEL_H_
#define FABRIC_CANCEL_H_

#include "fabric/capability.h"
#include "fabric/error.h"
#include "fabric/operation.h"

namespace fabric {

// Ownership and threads: as its endpoint.
class Cancel {
 public:
  static constexpr PowerId kPower{"Cancel"};
  virtual ~Cancel() = default;

  // Requests the end of the posted receive, tagged or not, with this context. kOk: if no message
  // has begun to arrive, the receive completes with kCanceled and its buffer is free; otherwise it
  // completes as without the request. kInvalidArgument: no posted receive has this context.
  // kClosed: the endpoint was closed. Sends, writes and reads cannot be cancelled.
  [[nodiscard]] virtual ErrorCode CancelReceive(Context context) = 0;
};

}  // namespace fabric

#endif  // FABRIC_CANCEL_H_
