// How a backend keeps the promise of the contract that objects may be destroyed in any order: the
// handle that the program owns is thin, and shares a core with everything that was opened from it.
// For backends only.

#ifndef FABRIC_SHARED_CORE_H_
#define FABRIC_SHARED_CORE_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace fabric {

// Gives up a handle's share of `core` if it is the last one, which closes; otherwise says that it
// is busy.
template <typename Core>
absl::Status CloseShared(std::shared_ptr<Core>& core, absl::string_view what) {
  if (core.use_count() > 1) {
    return absl::FailedPreconditionError(
        absl::StrCat("close ", what, ": busy, ", core.use_count() - 1, " objects still use it"));
  }
  core.reset();
  return absl::OkStatus();
}

// What a function of a handle returns after its Close.
inline absl::Status ClosedError(absl::string_view what) {
  return absl::FailedPreconditionError(absl::StrCat(what, " was closed"));
}

}  // namespace fabric

#endif  // FABRIC_SHARED_CORE_H_
