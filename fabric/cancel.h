// Taking back a posted receive: a power of endpoints whose NIC has Capability::kCancel.

#ifndef FABRIC_CANCEL_H_
#define FABRIC_CANCEL_H_

#include "fabric/capability.h"
#include "fabric/error.h"
#include "fabric/operation.h"

namespace fabric {

class Cancel {
 public:
  static constexpr PowerId kPower{"Cancel"};
  virtual ~Cancel() = default;

  // Asks for the end of the posted receive, tagged or not, that has this context. kOk: if no
  // message had begun to arrive, it completes with kCanceled and its buffer is free; otherwise it
  // completes as if nothing was asked. kInvalidArgument: no posted receive has this context.
  // kClosed: the endpoint was closed. Sends, writes and reads cannot be taken back.
  [[nodiscard]] virtual ErrorCode CancelReceive(Context context) = 0;
};

}  // namespace fabric

#endif  // FABRIC_CANCEL_H_
