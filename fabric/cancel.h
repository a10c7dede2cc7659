// Cancellation of a posted receive: a power of endpoints whose NIC has Capability::kCancel.

#ifndef DRYDOCK_FABRIC_CANCEL_H_
#define DRYDOCK_FABRIC_CANCEL_H_

#include "drydock/fabric/capability.h"
#include "drydock/fabric/error.h"
#include "drydock/fabric/operation.h"

namespace drydock::fabric {

// Ownership and threads: as its endpoint.
class Cancel {
 public:
  static constexpr PowerId kPower{"Cancel"};
  virtual ~Cancel() = default;

  // Requests the end of the posted receive, tagged or not, with this context. kOk: if no message
  // has begun to arrive, the receive completes with kCanceled and its buffer is free; otherwise it
  // completes as without the request. kInvalidArgument: no posted receive has this context, but for
  // one that was taken back already. kClosed: the endpoint was closed. Sends, writes and reads
  // cannot be cancelled.
  //
  // A multi receive ends with the last of the messages that have begun to arrive. libfabric's tcp
  // does not tell whether it still fetches one: there the receive ends at once with kCanceled and
  // Completion::buffer_released, a long message may still be landing in the buffer, and its
  // completion is dropped.
  [[nodiscard]] virtual ErrorCode CancelReceive(Context context) = 0;
};

}  // namespace drydock::fabric

#endif  // DRYDOCK_FABRIC_CANCEL_H_
