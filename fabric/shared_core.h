// The contract allows programs to destroy objects in any order. A backend keeps this promise with
// thin handles: the program owns the handle, and the handle shares a core with all objects that
// were opened from it. The last share closes the core. For backends only.

#ifndef DRYDOCK_FABRIC_SHARED_CORE_H_
#define DRYDOCK_FABRIC_SHARED_CORE_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace drydock::fabric {

// Gives up a handle's share of `core` if it is the last one; that closes the core. Otherwise
// FailedPrecondition with the number of other objects, and the handle keeps its share. Threads: the
// count is exact only while no other thread opens or closes objects of this core.
template <typename Core>
absl::Status CloseShared(std::shared_ptr<Core>& core, absl::string_view what) {
  if (core.use_count() > 1) {
    return absl::FailedPreconditionError(
        absl::StrCat("close ", what, ": busy, ", core.use_count() - 1, " objects still use it"));
  }
  core.reset();
  return absl::OkStatus();
}

// The result of every function of a handle after its Close; `what` is the object's noun.
inline absl::Status ClosedError(absl::string_view what) {
  return absl::FailedPreconditionError(absl::StrCat(what, " was closed"));
}

}  // namespace drydock::fabric

#endif  // DRYDOCK_FABRIC_SHARED_CORE_H_
