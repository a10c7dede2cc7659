// Whether an operation that failed may be issued again without doing it twice.
//
//   if (MayHaveHadEffect(sent.error, OperationKind::kSend)) return GiveUp(peer);
//
// Most failures leave open what happened: a peer that fell silent may have received everything and
// only failed to say so, and an operation whose deadline came may land yet. Only the program knows
// whether a second one does harm; a write of bytes that stay the same does none. "Again" from a
// post is no failure: AsyncEndpoint deals with it.

#ifndef DRYDOCK_FABRIC_ASYNC_MAY_HAVE_HAD_EFFECT_H_
#define DRYDOCK_FABRIC_ASYNC_MAY_HAVE_HAD_EFFECT_H_

#include "drydock/fabric/error.h"
#include "drydock/fabric/operation.h"

namespace drydock::fabric::async {

// Whether an operation of this kind that ended with this code may have moved bytes, taken a receive
// or announced itself, or may do so yet. False only where that is certain.
bool MayHaveHadEffect(ErrorCode code, OperationKind kind);

}  // namespace drydock::fabric::async

#endif  // DRYDOCK_FABRIC_ASYNC_MAY_HAVE_HAD_EFFECT_H_
