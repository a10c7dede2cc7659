#include "drydock/fabric/async/may_have_had_effect.h"

namespace drydock::fabric::async {

bool MayHaveHadEffect(ErrorCode code, OperationKind kind) {
  switch (code) {
    // Refused before anything left this machine.
    case ErrorCode::kAgain:
    case ErrorCode::kUnsupported:
    case ErrorCode::kClosed:
    case ErrorCode::kBusy:
    case ErrorCode::kNoMemory:
    // Refused as a whole by the peer's NIC.
    case ErrorCode::kFeatureMismatch:
      return false;
    // So is a message; of a write, the bytes are there before its immediate looks for a receive.
    case ErrorCode::kReceiverNotReady:
      return kind != OperationKind::kSend && kind != OperationKind::kTaggedSend;
    // The rest can come after some of the operation's packets were served: a region closes, a peer
    // restarts or forgets us while it is under way. A receive that is truncated is used up. And
    // providers that know only an errno say kInvalidArgument and kMessageTooLong of a peer's
    // answer.
    default:
      return true;
  }
}

}  // namespace drydock::fabric::async
